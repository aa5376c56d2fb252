// Drives NVRTC and nvFatbin for the releases whose nvcc is not packaged.
//
//   cudalibs compile NVRTC_LIB SOURCE OUTPUT OPTION...
//       OUTPUT ends in .ptx, .cubin or .ltoir; OPTIONs go to NVRTC.
//   cudalibs pack NVFATBIN_LIB OUTPUT [-OPTION...] KIND:ARCH:FILE...
//       KIND is ptx, cubin, ltoir, reloc, index or tileir; ARCH is as in "90a".
//
// Prototypes are those of nvrtc.h and nvFatbin.h, with the status as int and
// handles as void *. Memory is left to the end of the process: nvFatbin may
// keep pointers into its inputs.
#include <dlfcn.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *lib;

// symbol returns a function of the library.
static void *symbol(const char *name) {
	void *f = dlsym(lib, name);
	if (!f) errx(1, "%s", dlerror());
	return f;
}

static void check(int status, const char *call) {
	if (status != 0) errx(1, "%s failed with status %d", call, status);
}

static void *allocate(size_t size) {
	void *p = malloc(size);
	if (!p) err(1, "%zu bytes", size);
	return p;
}

// read_file returns the content of a file and puts a NUL behind it, which is
// not part of *size.
static char *read_file(const char *path, size_t *size) {
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) != 0) err(1, "%s", path);
	long end = ftell(f);
	if (end < 0) err(1, "%s", path);
	rewind(f);
	char *data = allocate(end + 1);
	if (fread(data, 1, end, f) != (size_t)end) err(1, "%s", path);
	fclose(f);
	data[end] = 0;
	*size = end;
	return data;
}

static void write_file(const char *path, const char *data, size_t size) {
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) err(1, "%s", path);
}

// base returns what follows the last character c of s, or all of s.
static const char *base(const char *s, char c) {
	const char *p = strrchr(s, c);
	return p ? p + 1 : s;
}

// fetch returns a result of the library, which gives its size first.
static char *fetch(void *handle, const char *size_call, const char *get_call, size_t *size) {
	int (*get_size)(void *, size_t *) = symbol(size_call);
	int (*get)(void *, char *) = symbol(get_call);
	check(get_size(handle, size), size_call);
	char *data = allocate(*size);
	check(get(handle, data), get_call);
	return data;
}

static void compile_source(const char *source, const char *output, int count, char **options) {
	int (*create)(void **, const char *, const char *, int, void *, void *) = symbol("nvrtcCreateProgram");
	int (*compile)(void *, int, char **) = symbol("nvrtcCompileProgram");
	void *program;
	size_t size;
	const char *text = read_file(source, &size);
	check(create(&program, text, base(source, '/'), 0, NULL, NULL), "nvrtcCreateProgram");
	check(compile(program, count, options), "nvrtcCompileProgram");

	const char *kind = base(output, '.');
	char *data;
	if (strcmp(kind, "ptx") == 0) {
		data = fetch(program, "nvrtcGetPTXSize", "nvrtcGetPTX", &size);
		while (size > 0 && data[size - 1] == 0) size--; // the file is text
	} else if (strcmp(kind, "cubin") == 0) {
		data = fetch(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN", &size);
	} else if (strcmp(kind, "ltoir") == 0) {
		data = fetch(program, "nvrtcGetLTOIRSize", "nvrtcGetLTOIR", &size);
	} else {
		errx(1, "%s: unknown kind of output", output);
	}
	write_file(output, data, size);
}

// add puts one KIND:ARCH:FILE into a fatbin. It changes spec.
static void add(void *fatbin, char *spec) {
	const char *kind = strsep(&spec, ":"), *arch = strsep(&spec, ":"), *path = spec;
	if (!path) errx(1, "%s: want KIND:ARCH:FILE", kind);
	size_t size;
	const char *code = read_file(path, &size), *name = base(path, '/');
	int status;
	if (strcmp(kind, "ptx") == 0) {
		int (*f)(void *, const char *, size_t, const char *, const char *, const char *) = symbol("nvFatbinAddPTX");
		status = f(fatbin, code, size + 1, arch, name, ""); // PTX includes its NUL
	} else if (strcmp(kind, "cubin") == 0) {
		int (*f)(void *, const char *, size_t, const char *, const char *) = symbol("nvFatbinAddCubin");
		status = f(fatbin, code, size, arch, name);
	} else if (strcmp(kind, "ltoir") == 0) {
		int (*f)(void *, const char *, size_t, const char *, const char *, const char *) = symbol("nvFatbinAddLTOIR");
		status = f(fatbin, code, size, arch, name, "");
	} else if (strcmp(kind, "reloc") == 0) {
		int (*f)(void *, const char *, size_t) = symbol("nvFatbinAddReloc");
		status = f(fatbin, code, size);
	} else if (strcmp(kind, "index") == 0) {
		int (*f)(void *, const char *, size_t, const char *) = symbol("nvFatbinAddIndex");
		status = f(fatbin, code, size, name);
	} else if (strcmp(kind, "tileir") == 0) {
		int (*f)(void *, const char *, size_t, const char *, const char *) = symbol("nvFatbinAddTileIR");
		status = f(fatbin, code, size, name, "");
	} else {
		errx(1, "%s: unknown kind of input", kind);
	}
	check(status, path);
}

static void pack(const char *output, int count, char **arguments) {
	int (*create)(void **, char **, size_t) = symbol("nvFatbinCreate");
	int options = 0;
	while (options < count && arguments[options][0] == '-') options++;
	void *fatbin;
	check(create(&fatbin, arguments, options), "nvFatbinCreate");
	for (int i = options; i < count; i++) add(fatbin, arguments[i]);
	size_t size;
	char *data = fetch(fatbin, "nvFatbinSize", "nvFatbinGet", &size);
	write_file(output, data, size);
}

int main(int argc, char **argv) {
	int compile = argc >= 5 && strcmp(argv[1], "compile") == 0;
	if (!compile && (argc < 4 || strcmp(argv[1], "pack") != 0)) errx(2, "usage: cudalibs compile|pack LIB ..., see the source");
	lib = dlopen(argv[2], RTLD_NOW);
	if (!lib) errx(1, "%s", dlerror());
	if (compile) compile_source(argv[3], argv[4], argc - 5, argv + 5);
	else pack(argv[3], argc - 4, argv + 4);
	return 0;
}
