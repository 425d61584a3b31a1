#!/usr/bin/python3 -IS
"""A Python for pictures that has loaded matplotlib, and h5py where it is: VOLTMILL_PYTHON of tests that draw or export often.

    warm_draw.py serve SOCKET   loads these once, then forks for each program that is asked for
    warm_draw.py -IBc TEXT ...  as python does it, by the server at $WARM_DRAW, with these files 0, 1, 2
"""
import os
import socket
import sys


def draw_run(here, files, words):
    """Never returns."""
    status = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, 256)
        os.chdir(here)
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve(path):
    import signal

    try:
        import h5py  # noqa: F401
    except ImportError:
        pass
    import matplotlib.backends.backend_agg  # noqa: F401: loaded for them, as all below
    import matplotlib.backends.backend_svg  # noqa: F401
    import matplotlib.figure  # noqa: F401
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(8)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.alarm(4000)  # a test that was killed asks no more
        client = server.accept()[0]
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            text, files = socket.recv_fds(client, 1 << 20, 3)[:2]
            here, *words = text.decode().split("\0")
            child = os.fork()
            if child == 0:
                draw_run(here, files, words)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            client.send(b"%d" % status)
            os._exit(0)
        client.close()


if sys.argv[1] == "serve":
    sys.path += ["/usr/lib/python3/dist-packages"]
    serve(sys.argv[2])
client = socket.socket(socket.AF_UNIX)
client.connect(os.environ["WARM_DRAW"])
socket.send_fds(client, ["\0".join([os.getcwd(), *sys.argv[1:]]).encode()], [0, 1, 2])
answer = int(client.recv(16) or b"1")
sys.exit(answer if answer >= 0 else 128 - answer)
