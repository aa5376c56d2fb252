package fatbintest

import "debug/elf"

// dynamic builds a dynamic section and what it points to. The section may come
// before the tables, so it is reserved first and filled in last.
type dynamic struct {
	o       SharedObject
	m       *image
	names   strtab
	tags    []elf.Dyn64
	symbols []byte // .dynsym
	need    []byte
	defs    []byte
	section Section // .dynamic
	interp  Section
	str     Section
	needAt  Section
	defsAt  Section
}

func newDynamic(o SharedObject, m *image) *dynamic {
	d := &dynamic{o: o, m: m, names: strtab{0}}
	text := func(tag elf.DynTag, s string) {
		if s != "" {
			d.tags = append(d.tags, elf.Dyn64{Tag: int64(tag), Val: uint64(d.names.add(s))})
		}
	}
	for _, n := range o.Needed {
		text(elf.DT_NEEDED, n)
	}
	text(elf.DT_SONAME, o.Soname)
	text(elf.DT_RPATH, o.RPath)
	text(elf.DT_RUNPATH, o.Runpath)
	d.needs()
	d.definitions()
	d.symbol("", 0, 0)
	for _, n := range o.Imports {
		d.symbol(n, elf.STB_GLOBAL, elf.SHN_UNDEF)
	}
	for _, n := range o.Weak {
		d.symbol(n, elf.STB_WEAK, elf.SHN_UNDEF)
	}
	for _, n := range o.Exports {
		d.symbol(n, elf.STB_GLOBAL, 1)
	}
	return d
}

// needs builds the records of .gnu.version_r.
func (d *dynamic) needs() {
	o := d.m.order
	for i, n := range d.o.VersionNeeds {
		next := uint32(16 + 16*len(n.Versions))
		if i == len(d.o.VersionNeeds)-1 {
			next = 0
		}
		b := o.AppendUint16(d.need, 1)
		b = o.AppendUint16(b, uint16(len(n.Versions)))
		b = o.AppendUint32(b, d.names.add(n.Library))
		b = o.AppendUint32(b, 16)
		b = o.AppendUint32(b, next)
		for j, v := range n.Versions {
			next := uint32(16)
			if j == len(n.Versions)-1 {
				next = 0
			}
			flags := uint16(0)
			if n.Weak {
				flags = 2 // VER_FLG_WEAK
			}
			b = o.AppendUint32(b, 0)
			b = o.AppendUint16(b, flags)
			b = o.AppendUint16(b, 0)
			b = o.AppendUint32(b, d.names.add(v))
			b = o.AppendUint32(b, next)
		}
		d.need = b
	}
}

// definitions builds the records of .gnu.version_d. The first, which
// names the file itself, is marked as the base.
func (d *dynamic) definitions() {
	if len(d.o.VersionDefs) == 0 {
		return
	}
	o := d.m.order
	all := append([]string{d.o.Soname}, d.o.VersionDefs...)
	for i, v := range all {
		base, next := uint16(0), uint32(28)
		if i == 0 {
			base = 1
		}
		if i == len(all)-1 {
			next = 0
		}
		b := o.AppendUint16(d.defs, 1)
		b = o.AppendUint16(b, base)
		b = o.AppendUint16(b, uint16(i+1))
		b = o.AppendUint16(b, 1)
		b = o.AppendUint32(b, 0)
		b = o.AppendUint32(b, 20)
		b = o.AppendUint32(b, next)
		b = o.AppendUint32(b, d.names.add(v))
		d.defs = o.AppendUint32(b, 0)
	}
}

// symbol adds an entry of the dynamic symbol table.
func (d *dynamic) symbol(name string, bind elf.SymBind, section elf.SectionIndex) {
	at := uint32(0)
	if name != "" {
		at = d.names.add(name)
	}
	o := d.m.order
	b := o.AppendUint32(d.symbols, at)
	b = append(b, elf.ST_INFO(bind, elf.STT_FUNC), 0)
	b = o.AppendUint16(b, uint16(section))
	b = o.AppendUint64(b, 0)
	d.symbols = o.AppendUint64(b, 0)
}

// addSymbols adds the symbol table, if there is more in it than the first entry.
func (d *dynamic) addSymbols() {
	if len(d.symbols) > 24 {
		d.m.add(Section{Name: ".dynsym", Type: elf.SHT_DYNSYM, Flags: elf.SHF_ALLOC, Data: d.symbols})
	}
}

// addStrings adds the sections that the dynamic section points to.
func (d *dynamic) addStrings() {
	d.str = d.m.add(Section{Name: ".dynstr", Type: elf.SHT_STRTAB, Flags: elf.SHF_ALLOC, Data: d.names})
	if len(d.need) > 0 {
		d.needAt = d.m.add(Section{Name: ".gnu.version_r", Type: elf.SHT_GNU_VERNEED, Flags: elf.SHF_ALLOC, Data: d.need})
	}
	if len(d.defs) > 0 {
		d.defsAt = d.m.add(Section{Name: ".gnu.version_d", Type: elf.SHT_GNU_VERDEF, Flags: elf.SHF_ALLOC, Data: d.defs})
	}
}

// reserve adds the dynamic section without its contents.
func (d *dynamic) reserve() {
	const more = 7 // tags that finish adds
	data := make([]byte, (len(d.tags)+more)*16)
	if d.m.class32 {
		data = data[:len(data)/2]
	}
	d.section = d.m.add(Section{Name: ".dynamic", Type: elf.SHT_DYNAMIC, Flags: elf.SHF_ALLOC | elf.SHF_WRITE, Data: data})
}

// finish fills in the dynamic section, once all addresses are known.
func (d *dynamic) finish() {
	tag := func(tag elf.DynTag, v uint64) { d.tags = append(d.tags, elf.Dyn64{Tag: int64(tag), Val: v}) }
	tag(elf.DT_STRTAB, d.str.addr)
	tag(elf.DT_STRSZ, uint64(len(d.names)))
	if len(d.need) > 0 {
		tag(elf.DT_VERNEED, d.needAt.addr)
		tag(elf.DT_VERNEEDNUM, uint64(len(d.o.VersionNeeds)))
	}
	if len(d.defs) > 0 {
		tag(elf.DT_VERDEF, d.defsAt.addr)
		tag(elf.DT_VERDEFNUM, uint64(len(d.o.VersionDefs)+1))
	}
	var b []byte
	for _, t := range d.tags {
		b = appendWords(b, d.m.order, d.m.class32, uint64(t.Tag), t.Val)
	}
	copy(d.m.body[d.section.off:], b)
	d.m.prog(elf.PT_DYNAMIC, d.section)
	if d.o.Interp != "" {
		d.m.prog(elf.PT_INTERP, d.interp)
	}
}
