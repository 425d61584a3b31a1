"""Writes the library of built-in functions that PoCL links with each program without those that kernels do not call: to
read all 23,000 of them takes half a second of each process that builds a program.

    small_library.py LIBLLVM FROM TO NAME...   LIBLLVM: the library that PoCL itself loads
"""
import ctypes
import re
import sys

llvm = ctypes.CDLL(sys.argv[1])
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t


def call(name, result, *arguments):
    function = getattr(llvm, name)
    function.restype = result
    return function(*arguments)


def check(is_wrong):
    if is_wrong:
        sys.exit(f"{sys.argv[2]}: not a library that can be made small")


def each(kind):
    one = call(f"LLVMGetFirst{kind}", POINTER, module)
    while one:
        yield POINTER(one)
        one = call(f"LLVMGetNext{kind}", POINTER, POINTER(one))


def is_kept(name):
    """Functions of kernels, PoCL's own forms of them, and what PoCL itself asks for; for scalars and 2 or 4 numbers."""
    mangled = re.match(r"_Z(\d+)", name)
    plain = name[mangled.end():][:int(mangled.group(1))] if mangled else name
    own = re.sub("^_*(cl|pocl)_", "", plain)
    if not mangled:
        return re.match("_*pocl|printf", name)
    return (own in sys.argv[4:] or re.match("get_(?!image)", own)) and not re.search("Dv(3|8|16)_|Dh", name)


EXTERNAL, INTERNAL = 0, 8  # LLVMLinkage
buffer, module = POINTER(), POINTER()
check(call("LLVMCreateMemoryBufferWithContentsOfFile", int, sys.argv[2].encode(), ctypes.byref(buffer),
           ctypes.byref(POINTER())))
check(call("LLVMParseBitcode2", int, buffer, ctypes.byref(module)))
hidden = []
for kind in "Function", "Global":
    for one in each(kind):
        name = call("LLVMGetValueName2", ctypes.c_char_p, one, ctypes.byref(SIZE())).decode()
        if (call("LLVMGetLinkage", int, one) == EXTERNAL and not call("LLVMIsDeclaration", int, one)
                and (kind == "Global" or not is_kept(name))):
            call("LLVMSetLinkage", None, one, INTERNAL)
            hidden.append(name)
options = call("LLVMCreatePassBuilderOptions", POINTER)
check(call("LLVMRunPasses", POINTER, module, b"globaldce", None, POINTER(options)))
for name in hidden:  # as they were, where something that is kept needs them
    for kind in "Function", "Global":
        one = call(f"LLVMGetNamed{kind}", POINTER, module, name.encode())
        if one:
            call("LLVMSetLinkage", None, POINTER(one), EXTERNAL)
check(call("LLVMWriteBitcodeToFile", int, module, sys.argv[3].encode()))
