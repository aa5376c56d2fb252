"""Drives NVRTC and nvFatbin for the releases whose nvcc is not packaged.

  cudalibs.py compile NVRTC_LIB SOURCE OUTPUT OPTION...
      OUTPUT ends in .ptx, .cubin or .ltoir; OPTIONs go to NVRTC.
  cudalibs.py pack NVFATBIN_LIB OUTPUT [-OPTION...] KIND:ARCH:FILE...
      KIND is ptx, cubin, ltoir, reloc, index or tileir; ARCH is as in "90a".
"""
import ctypes
import sys


def check(status, call):
    if status != 0:
        sys.exit(f"{call} failed with status {status}")


def compile_source(lib, source, output, options):
    rtc = ctypes.CDLL(lib)
    program = ctypes.c_void_p()
    text = open(source, "rb").read()
    check(rtc.nvrtcCreateProgram(ctypes.byref(program), text, source.rsplit("/", 1)[-1].encode(), 0, None, None), "nvrtcCreateProgram")
    argv = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    check(rtc.nvrtcCompileProgram(program, len(options), argv), "nvrtcCompileProgram")
    what = {"ptx": "PTX", "cubin": "CUBIN", "ltoir": "LTOIR"}[output.rsplit(".", 1)[-1]]
    size = ctypes.c_size_t()
    check(getattr(rtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), "nvrtcGet size")
    data = ctypes.create_string_buffer(size.value)
    check(getattr(rtc, f"nvrtcGet{what}")(program, data), "nvrtcGet")
    raw = data.raw
    open(output, "wb").write(raw.rstrip(b"\0") if what == "PTX" else raw)


def pack(lib, output, arguments):
    fat = ctypes.CDLL(lib)
    handle = ctypes.c_void_p()
    options = [a.encode() for a in arguments if a.startswith("-")]
    argv = (ctypes.c_char_p * len(options))(*options)
    check(fat.nvFatbinCreate(ctypes.byref(handle), argv, ctypes.c_size_t(len(options))), "nvFatbinCreate")
    keep = []
    for spec in (a for a in arguments if not a.startswith("-")):
        kind, arch, path = spec.split(":", 2)
        code = open(path, "rb").read() + (b"\0" if kind == "ptx" else b"")
        keep.append(code)
        name = path.rsplit("/", 1)[-1].encode()
        n, sm = ctypes.c_size_t(len(code)), arch.encode()
        if kind == "ptx":
            status = fat.nvFatbinAddPTX(handle, code, n, sm, name, b"")
        elif kind == "cubin":
            status = fat.nvFatbinAddCubin(handle, code, n, sm, name)
        elif kind == "ltoir":
            status = fat.nvFatbinAddLTOIR(handle, code, n, sm, name, b"")
        elif kind == "reloc":
            status = fat.nvFatbinAddReloc(handle, code, n)
        elif kind == "index":
            status = fat.nvFatbinAddIndex(handle, code, n, name)
        else:
            status = fat.nvFatbinAddTileIR(handle, code, n, name, b"")
        check(status, f"nvFatbinAdd {kind}")
    size = ctypes.c_size_t()
    check(fat.nvFatbinSize(handle, ctypes.byref(size)), "nvFatbinSize")
    data = ctypes.create_string_buffer(size.value)
    check(fat.nvFatbinGet(handle, data), "nvFatbinGet")
    open(output, "wb").write(data.raw)


if sys.argv[1] == "compile":
    compile_source(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
else:
    pack(sys.argv[2], sys.argv[3], sys.argv[4:])
