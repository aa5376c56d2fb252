package fatbintest_test

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// The standard library's reader is the judge of the files' ELF part.
func TestSharedObjectIsReadByTheStandardLibrary(t *testing.T) {
	full := fatbintest.SharedObject{
		Soname: "libk.so.1", Needed: []string{"libcudart.so.12", "libc.so.6"}, Runpath: "$ORIGIN/../lib:/opt/lib", Interp: "/lib/ld.so",
		VersionNeeds: []fatbintest.VersionNeed{{Library: "libcudart.so.12", Versions: []string{"libcudart.so.12"}}, {Library: "libc.so.6", Versions: []string{"GLIBC_2.17", "GLIBC_2.34"}}},
		VersionDefs:  []string{"K_1", "K_2"},
		Text:         []byte{0xc3}, Data: []byte("data"), Comment: []byte("gcc"), Gap: 100,
		Containers: [][]fatbintest.Entry{{fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4")}},
	}
	for name, edit := range map[string]func(*fatbintest.SharedObject){
		"plain":         func(*fatbintest.SharedObject) {},
		"32-bit":        func(o *fatbintest.SharedObject) { o.Class32 = true },
		"big-endian":    func(o *fatbintest.SharedObject) { o.BigEndian = true },
		"32-bit big":    func(o *fatbintest.SharedObject) { o.Class32, o.BigEndian = true, true },
		"moved strings": func(o *fatbintest.SharedObject) { o.Moved = true },
	} {
		t.Run(name, func(t *testing.T) {
			o := full
			edit(&o)
			f, err := elf.NewFile(bytes.NewReader(o.Bytes()))
			require.NoError(t, err)
			sonames, err := f.DynString(elf.DT_RUNPATH)
			require.NoError(t, err)
			require.Equal(t, []string{o.Runpath}, sonames)
			data, err := f.Section(".nv_fatbin").Data()
			require.NoError(t, err)
			require.Equal(t, fatbintest.Fatbin(o.Containers...), data)
			require.Equal(t, elf.SHT_GNU_VERNEED, f.Section(".gnu.version_r").Type)
			require.Equal(t, elf.EM_X86_64, f.Machine)
		})
	}
}

func TestCubinIsReadByTheStandardLibrary(t *testing.T) {
	f, err := elf.NewFile(bytes.NewReader(fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130, Options: "-arch sm_100"}.Bytes()))
	require.NoError(t, err)
	require.Equal(t, elf.EM_CUDA, f.Machine)
	require.NotNil(t, f.Section(".text.k"))
	require.NotNil(t, f.Section(".note.nv.tkinfo"))
	require.NotNil(t, f.Section(".note.nv.cuinfo"))
}
