/* Commands of the Python module (python/voltmill), each in a process of its own. The interpreter is
 * $VOLTMILL_PYTHON, else /usr/bin/python3; the module is in ../share/voltmill/python beside the
 * program's folder, or in the tree that the program was built in. */
#ifndef VOLTMILL_IO_PYTHON_H
#define VOLTMILL_IO_PYTHON_H

#include "base/text.h"

#include <sys/types.h>

/* Runs `python3 -I` with a command of the module and its `arguments` (up to NULL, at most 63;
 * further ones are dropped), and waits for its end. Appends its standard output to *out, also if it
 * fails. If it succeeds, lines on its standard error ("note: ...") are printed as notes. If it
 * fails, the last one ("error: ...") is the cause, and its exit status the status if that is USAGE,
 * NO_SPACE, DATA or DEVICE. Fails with DEVICE if Python, the module or a package is not installed
 * (says which one to install), if it crashes or ends with another status, or without memory or
 * descriptors. */
status_t python_run(const char *command, const char *const *arguments, struct text *out);

/* Returns the interpreter, $VOLTMILL_PYTHON or /usr/bin/python3, for messages; not for free(). */
const char *python_program(void);

/* Starts the interpreter on `code`, with the module's folder and `arguments` (up to NULL, at most
 * 64; further ones are dropped) in sys.argv[1:], and these descriptors, which stay the caller's, as
 * standard input, output and error. *out is the process, which the caller waits for. `needs`: the
 * package that it imports, for the message. Fails with DEVICE: interpreter or module are missing,
 * or no process can be started; *out is unchanged then. */
status_t python_begin(const char *code, const char *const *arguments, const int files[3],
                      const char *needs, pid_t *out);

#endif
