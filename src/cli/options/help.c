/* Help in lines of at most 100 characters, and the table for other programs. */
#include "cli/options/help.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 100, COLUMN = 23 };

/* Prints words, of which `at` characters of the line are taken; lines begin at `indent`. */
static void help_fill(const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (at > indent && at + 1 + length > WIDTH) {
            putchar('\n');
            at = 0;
        }
        at += printf("%*s%.*s", at < indent ? indent - at : at > indent, "", length, text);
        text += length;
        if (*text == '\n') {
            putchar('\n');
            at = 0;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void help_print_row(const struct option_row *row)
{
    char text[1024];
    if (!row->name) {
        printf("\n%s\n", row->help);
        return;
    }
    const char *name = options_name(row);
    int at = name != row->name ? printf("  -%c, --%s", row->name[0], name) : printf("  --%s", name);
    at += row->value ? printf(" %s", row->value) : 0;
    if (at >= COLUMN) {
        putchar('\n');
        at = 0;
    }
    snprintf(text, sizeof text, row->standard ? "%s (default: %s)" : "%s", row->help,
             row->standard);
    help_fill(text, at, COLUMN);
}

void help_print(const struct command *command)
{
    static const struct option_row help = {.name = "help", .help = "prints this"};
    const char *before = "Usage:";
    for (const char *line = command->usage; *line;) {
        int length = (int)strcspn(line, "\n");
        printf("%-6s voltmill %s %.*s\n", before, command->name, length, line);
        before = "";
        line += length + (line[length] == '\n');
    }
    if (command->is_parallel) {
        printf("%-6s mpirun -n N voltmill %s [OPTION]...%s\n", before, command->name,
               strrchr(command->usage, ' '));
    }
    putchar('\n');
    help_fill(command->about, 0, 0);
    putchar('\n');
    size_t i = 0;
    for (; options_row(command, i) && options_row(command, i)->name; i++) {
        help_print_row(options_row(command, i));
    }
    help_print_row(&help);
    for (; options_row(command, i); i++) {
        help_print_row(options_row(command, i));
    }
    if (command->ending) {
        putchar('\n');
        help_fill(command->ending, 0, 0);
    }
}

void help_print_list(const struct command *const *commands, const char *group)
{
    puts("Usage: voltmill COMMAND [OPTION]... FILE\n\n"
         "Grinds archived telescope voltages into spectra.\n");
    for (size_t i = 0; commands[i]; i++) {
        if (strncmp(commands[i]->name, group, strlen(group)) == 0) {
            printf("  %-17s %s\n", commands[i]->name, commands[i]->summary);
        }
    }
    puts("\nvoltmill COMMAND --help tells more; --version prints the version.");
}

static const char *help_or_none(const char *text)
{
    return text && *text ? text : "-";
}

void help_print_table(const struct command *const *commands)
{
    for (; *commands; commands++) {
        const struct command *c = *commands;
        printf("command\t%s\t%s\t-\t%s\t-\t%s\n", c->name, help_or_none(c->operand),
               help_or_none(c->ends), c->summary);
        for (size_t i = 0; options_row(c, i); i++) {
            const struct option_row *row = options_row(c, i);
            if (!row->name) {
                printf("heading\t%s\t-\t-\t-\t-\t%s\n", c->name, row->help);
                continue;
            }
            int has_letter = row->name[1] == ',';
            int has_choices = row->takes && strchr(row->takes, '|');
            printf("option\t%s\t--%s\t%c\t%s\t%s\t%s%s%s%s\n", c->name, options_name(row),
                   has_letter ? row->name[0] : '-', help_or_none(row->value),
                   has_choices ? row->takes : "-", row->help, row->standard ? " (default: " : "",
                   row->standard ? row->standard : "", row->standard ? ")" : "");
        }
    }
}
