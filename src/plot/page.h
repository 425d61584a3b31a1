/* A page of HTML that is one file: no link leads out of it, all text of others is escaped, pictures
 * are inside. Reads well at the width of a phone, light and dark. All fail with DEVICE (memory). */
#ifndef VOLTMILL_PLOT_PAGE_H
#define VOLTMILL_PLOT_PAGE_H

#include "base/text.h"

status_t page_begin(struct text *page, const char *title);
/* Appends HTML in which a text of anybody's is in place of the '%', "<p>%</p>": nothing in the text
 * means anything to HTML, or steers a terminal. */
status_t page_add(struct text *page, const char *form, const char *text);
/* A row of a table; without a value it is omitted. */
status_t page_row(struct text *page, const char *name, const char *value);

#endif
