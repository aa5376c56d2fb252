package object_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// note builds the section of a forward-compatibility package.
func note(text string) fatbintest.Section {
	const owner = "NVIDIA Corporation\x00"
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(owner)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, owner...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	b = append(b, text...)
	return fatbintest.Section{Name: ".note.cuda.fwd_compatibility", Type: elf.SHT_NOTE, Flags: elf.SHF_ALLOC, Data: append(b, 0, 0, 0)}
}

func TestNoteOfAForwardCompatibilityPackage(t *testing.T) {
	for text, want := range map[string]*facts.Compat{
		`{"format": 1, "CUDA version": "12.9", "driver": [535, 550, 575], "device": [1, 2, 7]}`: {CUDA: "12.9", Hosts: []int{535, 550, 575}, Brands: []int{1, 2, 7}},
		`{"CUDA version": "13.2"}`: {CUDA: "13.2"},
		`{"driver": "all"}`:        nil,
		`{"driver": [535`:          nil,
		"":                         nil,
	} {
		o := library()
		o.Soname = "libcuda.so.1"
		o.Sections = []fatbintest.Section{note(text)}
		require.Equal(t, want, complete(t, "libcuda.so.575.57.08", o.Bytes()).ELF.Compat, text)
	}
}
