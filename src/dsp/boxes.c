/* Where blocks of a series are, and what their boxes reach over. */
#include "dsp/boxes.h"

#include "base/memory.h"

enum { BLOCK_CELLS = 64, BLOCK_WIDTHS = 16 };

struct boxes boxes_of(uint32_t widths, double threshold, uint64_t outputs)
{
    uint64_t least = (uint64_t)BLOCK_CELLS * PEAK_CELL;
    return (struct boxes){.widths = widths,
                          .threshold = threshold,
                          .outputs = outputs,
                          .block = max_u64(least, (uint64_t)BLOCK_WIDTHS * widths)};
}

uint32_t boxes_step(uint32_t width)
{
    uint32_t quarter = width > 4 ? width / 4 : 1;
    return quarter < PEAK_CELL ? quarter : PEAK_CELL;
}

float boxes_least(const struct boxes *boxes)
{
    static const float slack = 0.84F;   /* as boxes_step() says */
    static const float hardly = 0.999F; /* of single times: roundings */
    return (float)boxes->threshold * (boxes->widths > 1 ? slack : hardly);
}

uint64_t boxes_cells(const struct boxes *boxes)
{
    return ceil_div_u64(boxes->outputs, PEAK_CELL);
}

struct boxes_block boxes_block_at(const struct boxes *boxes, uint64_t time)
{
    struct boxes_block block = {.first = time / boxes->block * boxes->block};
    block.end = min_u64(block.first + boxes->block, boxes->outputs);
    block.box_end = boxes_need_end(boxes, block.end);
    block.noise_end = block.end;
    block.noise_first =
        boxes->outputs > boxes->block ? min_u64(block.first, block.end - boxes->block) : 0;
    return block;
}

uint64_t boxes_need_from(const struct boxes *boxes, uint64_t first, uint64_t end)
{
    return min_u64(first, boxes_block_at(boxes, end - 1).noise_first);
}

uint64_t boxes_need_end(const struct boxes *boxes, uint64_t end)
{
    return min_u64(end + boxes->widths - 1, boxes->outputs);
}
