/* Versions of the libraries that the program runs with. */
#ifndef VOLTMILL_IO_LIBRARIES_H
#define VOLTMILL_IO_LIBRARIES_H

/* Prints them on stdout, as one line of `--version`. Those without a version to ask for at run time
 * have that of their headers. */
void libraries_print(void);

#endif
