/* Prints what all passes have in common: how long it takes, and where it goes on. */
#include "base/display.h"
#include "base/units.h"
#include "cli/plan_job.h"

void plan_pass_print(const struct pass *pass)
{
    char text[PASS_TEXT];
    struct rate rate = pass_expect(pass);
    if (rate.seconds > 0 && !pass->is_complete) {
        display_print("  time          about %s on %u %s of %u %s, as the last such run here\n",
                      units_seconds(rate.seconds, text), rate.ranks,
                      units_plural(rate.ranks, "rank", "ranks"), rate.threads,
                      units_plural(rate.threads, "thread", "threads"));
    }
    if (pass->begun.is_begun) {
        display_print("  goes on       %s are done\n", pass_count_done(pass, text));
    }
}
