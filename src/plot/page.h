/* A page of HTML that is one file: no link leads out of it, all text of others is escaped, pictures
 * are inside. Reads well at the width of a phone, light and dark. All fail with DEVICE (memory). */
#ifndef VOLTMILL_PLOT_PAGE_H
#define VOLTMILL_PLOT_PAGE_H

#include "base/text.h"

status_t page_begin(struct text *page, const char *title);
status_t page_end(struct text *page);

/* Appends a text of anybody's: nothing in it means anything to HTML, or steers a terminal. */
status_t page_text(struct text *page, const char *text);

status_t page_heading(struct text *page, const char *text);
status_t page_paragraph(struct text *page, const char *text);
/* Text as it is, in lines. */
status_t page_lines(struct text *page, const char *text);

/* A table of names and values: begin, rows, end. A row without a value is left out. */
status_t page_table_begin(struct text *page);
status_t page_row(struct text *page, const char *name, const char *value);
status_t page_table_end(struct text *page);

#endif
