/* What a product says of the filters before it, and what can be read back of that. */
#include "plan/filter_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *filter_plan_kind(const struct filter_plan_stage *stage)
{
    if (stage->spec.response) {
        return stage->deripple.half ? "dispersion with deripple" : "dispersion";
    }
    return stage->made.is_deripple ? "deripple" : "coefficients";
}

status_t filter_plan_words(const struct filter_plan *plan, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(plan->synthesis ? synthesis_plan_words(plan->synthesis, out) : STATUS_OK);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct filter_plan_stage *stage = &plan->stages[i];
        const struct filter_shape *shape = &stage->spec.choice.shape;
        TRY(text_add(out, "%s%s of %" PRId64 " samples, decimate %u, delay %.17g samples, ",
                     out->length > 0 ? "\n" : "", filter_plan_kind(stage), stage->reach.length,
                     stage->spec.decimate, stage->delay));
        TRY(text_add(out, "%s", filter_method_name((enum filter_method)shape->method)));
        if (shape->method == FILTER_OVERLAP_SAVE) {
            TRY(text_add(out, " %u", shape->length));
        }
    }
out:
    return st;
}

int filter_plan_read_choices(const char *words, enum backend_kind backend,
                             struct filter_choice choices[JOB_FILTERS])
{
    uint32_t i = 0;
    words = strncmp(words, synthesis_plan_word, strlen(synthesis_plan_word)) == 0
                ? strchr(words, '\n')
                : words;
    for (const char *line = words; line; line = strchr(line, '\n')) {
        char method[32] = "";
        uint32_t length = 0;
        line += *line == '\n';
        const char *at = strstr(line, " samples, decimate ");
        const char *how = at ? strstr(at, " samples, ") : NULL;
        how = how ? strstr(how + 1, " samples, ") : NULL;
        if (i == JOB_FILTERS || !how ||
            sscanf(how, " samples, %31[a-z-] %" SCNu32, method, &length) < 1) {
            return 0;
        }
        int is_direct = strcmp(method, filter_method_name(FILTER_DIRECT)) == 0;
        choices[i++] = (struct filter_choice){
            .backend = backend,
            .shape = {.method = is_direct ? FILTER_DIRECT : FILTER_OVERLAP_SAVE, .length = length}};
    }
    return 1;
}
