#include "ranks/presence.h"

#include "ranks/progress.h"

int presence_was_away(struct presence *presence, double patience)
{
    double now = progress_now();
    int was_away = patience > 0 && presence->here > 0 && now - presence->here > patience / 2;
    presence->here = now;
    return was_away;
}
