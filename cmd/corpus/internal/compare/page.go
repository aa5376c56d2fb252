package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Page is the committed account of a comparison.
type Page struct {
	Date    time.Time
	Dumper  string // name and version of its package
	Set     string
	Rows    []Row
	Checks  []Check
	Missing []string // packages that could not be had, with the reason
}

// crowd is from how many files of one kind a package gets one line for all of them.
const crowd = 200

// Markdown writes the page.
func (p *Page) Markdown() []byte {
	var b bytes.Buffer
	elf, ptx, outside, wrong := 0, 0, 0, 0
	packages := map[string]bool{}
	for i := range p.Rows {
		r := &p.Rows[i]
		packages[r.Package] = true
		for code, n := range r.Dumper {
			if code.Kind == "elf" {
				elf += n
			} else {
				ptx += n
			}
		}
		for _, c := range r.Ours.Outside {
			outside += c.Total()
		}
		if r.Wrong != "" {
			wrong++
		}
	}
	fmt.Fprintf(&b, "# Agreement with NVIDIA's dumper\n\nWritten by `corpus compare --set %s` on %s with %s.\n\n", p.Set, p.Date.Format(time.DateOnly), p.Dumper)
	b.WriteString("Every ELF file of the corpus, and every object of `testdata/objects`, was listed by ccgate and by `cuobjdump -all --list-elf --list-ptx`. " +
		"The two multisets of (kind, target with suffix) have to be equal; a difference has to be explained from the bytes of the file, or the command fails. " +
		"Files in which neither finds device code are left out.\n\n")
	fmt.Fprintf(&b, "%d files of %d packages: the dumper lists %d ELF and %d PTX images. %d files disagree. ccgate finds %d more where the dumper does not look.\n",
		len(p.Rows), len(packages), elf, ptx, wrong, outside)
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "\nNot available: %s.\n", m)
	}
	b.WriteString(differences)
	p.table(&b)
	p.silent(&b)
	return b.Bytes()
}

const differences = `
## Differences by nature

* The dumper's list of ELF images never shows the suffix ` + "`f`" + `: an entry for sm_103f is printed as sm_103. Its list of PTX shows it.
* The dumper names ELF images by the flags inside the cubin, ccgate by the entry, as the driver does. The device linker of 12.4 drops the mark
  of sm_90a from its stubs, so the dumper prints sm_90 for them.
* The dumper looks into the sections ` + "`.nv_fatbin` and `__nv_relfatbin`" + ` only. ccgate also finds containers and cubins in other data; they
  stand in the last column, by section.
* It refuses a file with code for a target that its toolkit has dropped, such as sm_35. Those files are listed by the dumper of CUDA 11.8.
* LTO-IR and Tile IR are in neither of its lists; ccgate lists them as kinds of their own.
* Some cubins of ptxas 12.0 to 12.3 have a section of type RELA whose link names no symbol table. The dumper calls such a cubin an invalid
  ELF: it lists nothing that follows in the file, and of a lone cubin it says that there is no device code. For these files the link was
  repaired in a copy, and the dumper's list of the copy is what is compared. The entries that it did list are the same.
* PTX text files are not for the dumper; their targets are checked by ` + "`expected.txt`" + ` below.

`

// table writes one line for each file.
func (p *Page) table(b *bytes.Buffer) {
	rows := merged(p.Rows)
	slices.SortStableFunc(rows, func(x, y Row) int {
		return cmp.Or(strings.Compare(x.Package, y.Package), strings.Compare(x.Path, y.Path))
	})
	last := ""
	for i := range rows {
		r := &rows[i]
		if r.Package != last {
			last = r.Package
			fmt.Fprintf(b, "## %s\n\n| file | entries | agreement | outside the dumper's sections |\n|---|---|---|---|\n", last)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", short(r.Path), entries(r), agreement(r), elsewhere(r))
		if i+1 == len(rows) || rows[i+1].Package != last {
			b.WriteString("\n")
		}
	}
}

// short drops the folder where packages are installed.
func short(file string) string {
	for _, dir := range []string{"usr/local/lib/python3.11/dist-packages/", "app/node_modules/"} {
		file = strings.TrimPrefix(file, dir)
	}
	return file
}

func entries(r *Row) string {
	if r.Dumper.Total() == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", r.Dumper.Total(), r.Dumper)
}

func agreement(r *Row) string {
	switch {
	case r.Wrong != "":
		return "**no**: " + r.Wrong
	case r.Explained != "":
		return "explained: " + r.Explained
	}
	return "yes"
}

func elsewhere(r *Row) string {
	var parts []string
	for section, c := range r.Ours.Outside {
		parts = append(parts, fmt.Sprintf("`%s`: %s", cmp.Or(section, "no section"), c))
	}
	for kind, n := range r.Ours.Other {
		parts = append(parts, fmt.Sprintf("%s×%d", kind, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// merged joins the rows of packages that hold many files of one kind, where they agree.
func merged(rows []Row) []Row {
	type group struct{ pkg, ext, explained string }
	key := func(r *Row) group { return group{r.Package, path.Ext(r.Path), r.Explained} }
	size := map[group]int{}
	for i := range rows {
		size[key(&rows[i])]++
	}
	joined := map[group]*Row{}
	count := map[group]int{}
	var out []Row
	for i := range rows {
		r := &rows[i]
		k := key(r)
		if size[k] < crowd || r.Wrong != "" || path.Dir(r.Path) == "." {
			out = append(out, *r)
			continue
		}
		if joined[k] == nil {
			joined[k] = &Row{Package: r.Package, Path: r.Path, Dumper: Count{}, Explained: r.Explained}
		}
		count[k]++
		for code, n := range r.Dumper {
			joined[k].Dumper[code] += n
		}
	}
	for k, r := range joined {
		r.Path = fmt.Sprintf("%s and %d more files *%s", path.Base(r.Path), count[k]-1, k.ext)
		out = append(out, *r)
	}
	return out
}

// silent writes what the dumper does not tell, and how it was checked.
func (p *Page) silent(b *bytes.Buffer) {
	b.WriteString("## Where the dumper is silent\n\nIts lists give kind and target, nothing else. The rest was checked against the command lines that made the objects of `testdata/objects` " +
		"(its README names them).\n\n| fact | checked by | entries looked at | wrong |\n|---|---|---|---|\n")
	for _, c := range p.Checks {
		fmt.Fprintf(b, "| %s | %s | %d | %d |\n", c.What, c.How, c.Count, len(c.Failed))
	}
	for _, c := range p.Checks {
		for _, f := range c.Failed {
			fmt.Fprintf(b, "\n**wrong:** %s: %s\n", c.What, f)
		}
	}
}
