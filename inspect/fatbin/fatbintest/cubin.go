package fatbintest

import (
	"bytes"
	"debug/elf"
	"fmt"

	"github.com/ccgate/ccgate/inspect/fatbin"
)

// Cubin describes a CUDA ELF file with one kernel.
type Cubin struct {
	ABI     int // 7 or 8
	SM      int
	Toolkit int // CUDA release times 10, such as 124; 0 writes none
	// Accelerated sets the "a" mark of ABI 7.
	Accelerated bool
	Relocatable bool // input of the device linker
	// Stub leaves out the instructions, as in what the device linker adds.
	Stub bool
	// Options is the compiler's command line, kept in .note.nv.tkinfo; empty writes no note.
	Options string
	Code    []byte // of the kernel; 128 zero bytes if nil
	// Sections are further sections.
	Sections []Section
}

// Entry returns a fatbin entry with the cubin; flags say its suffix.
func (c Cubin) Entry(flags fatbin.Flags) Entry {
	return Entry{Kind: fatbin.KindCubin, SM: uint32(c.SM), Major: 1, Minor: uint16(c.ABI), Flags: flags, Payload: c.Bytes()}
}

// Bytes returns the file.
func (c Cubin) Bytes() []byte {
	m := &image{order: le, typ: elf.ET_EXEC, machine: elf.EM_CUDA, abi: byte(c.ABI), version: 1}
	if c.Relocatable {
		m.typ = elf.ET_REL
	}
	switch c.ABI {
	case 7:
		m.osabi, m.flags = 0x33, uint32(c.SM|c.SM<<16|0x500)
		m.version = uint32(c.Toolkit)
		if c.Accelerated {
			m.flags |= 0x800
		}
	case 8:
		m.osabi, m.flags = 0x41, uint32(c.SM<<8|0x06000004)
	default:
		panic(fmt.Sprintf("fatbintest: cubin ABI %d", c.ABI))
	}
	m.start(0)
	if !c.Stub {
		code := c.Code
		if code == nil {
			code = make([]byte, 128)
		}
		m.add(Section{Name: ".text.k", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, Align: 128, Data: code})
	}
	m.add(Section{Name: ".nv.info", Type: elf.SHT_LOPROC, Data: make([]byte, 16)})
	for _, s := range c.Sections {
		m.add(s)
	}
	if c.Options != "" {
		m.add(note(".note.nv.tkinfo", 2000, toolInfo(c.Options, c.Toolkit)))
	}
	if c.ABI == 8 && c.Toolkit != 0 {
		desc := le.AppendUint16(nil, 2)
		desc = le.AppendUint16(desc, uint16(c.SM))
		m.add(note(".note.nv.cuinfo", 1000, le.AppendUint32(desc, uint32(c.Toolkit))))
	}
	return m.finish(true)
}

// HeadersFirst returns a cubin with its section headers between the ELF header and
// the sections, as in the tools that NVIDIA ships with cubins of their own.
func HeadersFirst(b []byte) []byte {
	at := le.Uint64(b[40:])
	table := bytes.Clone(b[at:])
	for s := table; len(s) > 0; s = s[64:] {
		if off := le.Uint64(s[24:]); off > 0 {
			le.PutUint64(s[24:], off+uint64(len(table)))
		}
	}
	first := bytes.Clone(b[:64])
	le.PutUint64(first[40:], 64)
	// The padding before the table goes: the file ends with the section names.
	names := table[len(table)-64:]
	out := append(append(first, table...), b[64:at]...)
	return out[:le.Uint64(names[24:])+le.Uint64(names[32:])]
}

// toolInfo returns what .note.nv.tkinfo says: a version, offsets of five strings, the strings.
func toolInfo(options string, toolkit int) []byte {
	desc := le.AppendUint32(nil, 2)
	var text []byte
	release := fmt.Sprintf("Cuda compilation tools, release %d.%d", toolkit/10, toolkit%10)
	for _, s := range []string{"", "ptxas", release, "Build test", options} {
		desc = le.AppendUint32(desc, uint32(len(text)))
		text = append(append(text, s...), 0)
	}
	return append(desc, text...)
}

func note(section string, typ uint32, desc []byte) Section {
	const owner = "NVIDIA Corp\x00"
	b := le.AppendUint32(nil, uint32(len(owner)))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, typ)
	b = append(append(b, owner...), desc...)
	return Section{Name: section, Type: elf.SHT_NOTE, Align: 4, Data: pad(b, 4)}
}
