package object_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// names returns text as a linker places it: every name between NULs.
func names(all ...string) []byte { return []byte("\x00" + strings.Join(all, "\x00") + "\x00") }

func TestRuntime(t *testing.T) {
	static := []string{"other", "cudaErrorCudartUnloading", "cudaGetKernel"}
	for _, tt := range []struct {
		name, path string
		edit       func(o *fatbintest.SharedObject)
		want       *facts.Runtime
	}{
		{"none", "k", func(o *fatbintest.SharedObject) { o.Data = names("cudaMalloc") }, nil},
		{"shared by file name", "usr/lib/libcudart.so.12.4.127", func(o *fatbintest.SharedObject) { o.Soname = "libcudart.so.12" },
			&facts.Runtime{Linkage: "shared", Version: "12.4", Evidence: "file name libcudart.so.12.4.127"}},
		{"shared by soname", "usr/lib/libcudart.so.12", func(o *fatbintest.SharedObject) { o.Soname = "libcudart.so.12" },
			&facts.Runtime{Linkage: "shared", Version: "12", Evidence: "soname libcudart.so.12"}},
		{"shared by soname and names", "usr/lib/libcudart.so.12", func(o *fatbintest.SharedObject) { o.Soname, o.Data = "libcudart.so.12", names(static...) },
			&facts.Runtime{Linkage: "shared", Version: "12.1", AtLeast: true, Evidence: "soname libcudart.so.12 and the names of its functions"}},
		{"static by device code", "k", func(o *fatbintest.SharedObject) { o.Data = names(static...) },
			&facts.Runtime{Linkage: "static", Version: "12.4", Evidence: "toolkit of the device code"}},
		{"static by names", "k", func(o *fatbintest.SharedObject) { o.Data, o.Containers = names(static...), nil },
			&facts.Runtime{Linkage: "static", Version: "12.1", AtLeast: true, Evidence: "names of runtime functions"}},
		{"static of another major than the code", "k", func(o *fatbintest.SharedObject) {
			o.Data = names("cudaErrorCudartUnloading", "cudaLogsRegisterCallback")
		},
			&facts.Runtime{Linkage: "static", Version: "13.0", AtLeast: true, Evidence: "names of runtime functions"}},
		{"static, version unknown", "k", func(o *fatbintest.SharedObject) { o.Data, o.Containers = names("cudaErrorCudartUnloading"), nil },
			&facts.Runtime{Linkage: "static"}},
		{"names in code", "k", func(o *fatbintest.SharedObject) { o.Text = names(static...) }, nil},
		{"names of a wrapper", "k", func(o *fatbintest.SharedObject) { o.Data = names("cudaGetKernel") }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := library()
			tt.edit(&o)
			require.Equal(t, tt.want, complete(t, tt.path, o.Bytes()).Runtime)
		})
	}
}
