/* How much of the products the journals have. */
#include "output/outputs_parts.h"

int outputs_is_done(void *context, uint64_t chunk)
{
    const outputs_t *outputs = context;
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (!journal_is_done(outputs->outputs[i].journal, chunk)) {
            return 0;
        }
    }
    return 1;
}

uint64_t outputs_done(const outputs_t *outputs)
{
    uint64_t done = outputs->outputs[0].journal ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const journal_t *journal = outputs->outputs[i].journal;
        done = min_u64(done, journal ? journal->done : 0);
    }
    return done;
}

struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i)
{
    const journal_t *journal = outputs->outputs[i].journal;
    return (struct chunk_counts){journal->missing, journal->clipped};
}
