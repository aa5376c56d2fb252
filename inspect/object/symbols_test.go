package object_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/object"
)

// mostNames is how many functions of one file are kept.
const mostNames = 1 << 12

func TestFunctionsOfTheCUDAWorld(t *testing.T) {
	o := library()
	o.Soname = "libcusparse.so.12"
	o.Imports = []string{"__nvJitLinkAddData_12_4", "cudaMalloc", "cublasLtMatmul", "cuMemAlloc_v2", "printf", "customer", "_ZN4cuda3fooEv", "ncclAllReduce"}
	o.Weak = []string{"cudaMaybe"}
	o.Exports = []string{"cusparseCreate", "cusparseCreate", "internal"}
	f := complete(t, "k", o.Bytes())
	require.Equal(t, []string{"__nvJitLinkAddData_12_4", "cuMemAlloc_v2", "cublasLtMatmul", "cudaMalloc", "ncclAllReduce"}, f.ELF.Imports)
	require.Equal(t, []string{"cusparseCreate"}, f.ELF.Exports)
}

func TestFunctionsOfOtherFilesAreLeftOut(t *testing.T) {
	o := library()
	o.Needed, o.VersionNeeds, o.Imports = []string{"libc.so.6"}, nil, []string{"cudaMalloc"}
	require.Empty(t, complete(t, "k", o.Bytes()).ELF.Imports)
}

// patchelf moves the names to the end of the file, where a stream keeps none but those that
// the search comes by.
func TestFunctionsOfAPatchedFile(t *testing.T) {
	o := library()
	o.Moved, o.Gap = true, 40<<20
	o.Imports = []string{"ncclCommRegister", "cudaMalloc"}
	b := o.Bytes()
	f, unread, ok := object.Scan("k", int64(len(b)), struct{ io.Reader }{bytes.NewReader(b)})
	require.True(t, ok)
	require.Empty(t, unread)
	require.Equal(t, []string{"cudaMalloc", "ncclCommRegister"}, f.ELF.Imports)
}

// Where names end others, as ncclSend does pncclSend, the search comes by a part of them only.
// A library that seemed to lack the others was reported.
func TestFunctionsThatAPatchedFileDefinesAreNotKnown(t *testing.T) {
	o := library()
	o.Moved, o.Gap, o.Soname = true, 40<<20, "libnccl.so.2"
	o.Imports = []string{"cudaMalloc"}
	for i := range 1 << 6 { // far from what the loader asks for
		o.Exports = append(o.Exports, fmt.Sprintf("_ZN%d%s", i, strings.Repeat("x", 1<<14)))
	}
	o.Exports = slices.Insert(o.Exports, len(o.Exports)/2, "ncclGetVersion", "pncclSend")
	b := o.Bytes()
	f, _, ok := object.Scan("k", int64(len(b)), struct{ io.Reader }{bytes.NewReader(b)})
	require.True(t, ok)
	require.Equal(t, []string{"cudaMalloc"}, f.ELF.Imports)
	require.Empty(t, f.ELF.Exports)
}

func TestTooManyFunctionsAreNotCompared(t *testing.T) {
	o := library()
	for i := range mostNames + 1 {
		o.Exports = append(o.Exports, fmt.Sprintf("cudaFunction%d", i))
	}
	o.Soname = "libnvjpeg.so.12"
	require.Empty(t, complete(t, "k", o.Bytes()).ELF.Exports)
	o.Exports = slices.Clip(o.Exports[:mostNames])
	require.Len(t, complete(t, "k", o.Bytes()).ELF.Exports, mostNames)
}
