package matrix

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/matrix/spell"
)

// GPU is one GPU model, or every GPU of one compute capability.
type GPU struct {
	// Name is the short name, such as "H100"; "sm_90" for a generic GPU.
	Name string `toml:"name"`
	// Product is the name that nvidia-smi prints.
	Product string `toml:"-"`
	// Products are all names that nvidia-smi prints for the model, Aliases
	// other spellings that people use.
	Products []string               `toml:"products"`
	Aliases  []string               `toml:"aliases"`
	CC       cuda.ComputeCapability `toml:"cc"`
	Arch     string                 `toml:"-"`
	// FirstDriver is the first public driver that lists the model. Where only
	// the branch is known it is the lowest version of that branch, and
	// FirstGrade is no better than C.
	FirstDriver cuda.Driver `toml:"first"`
	FirstBranch int         `toml:"first_branch"`
	FirstGrade  Grade       `toml:"first_grade"`
	// LastBranch is the last driver branch that drives it, 0 where the newest does.
	LastBranch int `toml:"-"`
	// Tegra marks the GPU of a system on chip.
	Tegra bool `toml:"-"`
	// Brand is the brand as NVML names it; background knowledge (grade D).
	Brand string `toml:"brand"`
	// ForwardCompat says whether the model may use forward-compatibility
	// packages: ForwardYes, ForwardNo or ForwardUnknown.
	ForwardCompat string `toml:"forward_compat"`
	// MIG is the profile that the name carried, such as "1g.5gb".
	MIG string `toml:"-"`
	// Generic is set for a GPU named by its compute capability.
	Generic bool `toml:"-"`
	Provenance
}

// The values of [GPU.ForwardCompat].
const (
	ForwardYes     = "yes"
	ForwardNo      = "no"
	ForwardUnknown = "unknown"
)

// GPUs returns the models, by architecture and age.
func (k *Knowledge) GPUs() []GPU {
	rows := slices.Clone(k.rows.GPU)
	for i := range rows {
		rows[i] = rows[i].clone()
	}
	return rows
}

func (g GPU) clone() GPU {
	g.Products, g.Aliases = slices.Clone(g.Products), slices.Clone(g.Aliases)
	return g
}

// completeGPU fills in what follows from the compute capability and the branch.
func (k *Knowledge) completeGPU(g *GPU) {
	if len(g.Products) > 0 {
		g.Product = g.Products[0]
	}
	c, ok := k.Capability(g.CC)
	if !ok {
		return // reported by the checks
	}
	g.Arch, g.LastBranch, g.Tegra = c.Arch, c.LastBranch, c.Tegra
	if g.FirstGrade == "" {
		g.FirstGrade = g.Grade
	}
	if g.FirstDriver != (cuda.Driver{}) {
		return
	}
	if g.FirstBranch == 0 {
		b, _ := k.branchFrom(c.Driver)
		g.FirstBranch = b.Number
	}
	b, _ := k.Branch(g.FirstBranch)
	g.FirstDriver = b.First
	if g.FirstGrade != GradeD {
		g.FirstGrade = GradeC
	}
}

// spellings are the normal forms of every name of the model.
func (g GPU) spellings() []string {
	var forms []string
	for _, name := range slices.Concat([]string{g.Name}, g.Products, g.Aliases) {
		form := spelling(name)
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// spelling is the normal form of a GPU name: lower case, without separators,
// without the maker and the lines "Tesla" and "GeForce", which tell no models
// apart. ("Quadro" does: Quadro RTX 6000 is not RTX 6000 Ada.)
func spelling(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	s := b.String()
	for _, prefix := range []string{"nvidia", "tesla", "geforce"} {
		if rest := strings.TrimPrefix(s, prefix); rest != "" {
			s = rest
		}
	}
	return s
}

// splitSuffix takes off what nvidia-smi and GPU feature discovery add to the name of a
// GPU for a MIG profile (1g.5gb, 1g.10gb+me, 1g.5gb.me) or a shared GPU.
func splitSuffix(name string) (bare, profile string) {
	bare = sharedSuffix.ReplaceAllString(strings.TrimSpace(name), "")
	if m := migSuffix.FindStringSubmatchIndex(bare); m != nil {
		return bare[:m[0]], strings.ToLower(bare[m[2]:m[3]])
	}
	return bare, ""
}

var (
	migSuffix    = regexp.MustCompile(`(?i)[-_ ]+mig[-_ ]*(?:[0-9]+c\.)?([0-9]+g\.[0-9]+gb(?:[.+-][a-z.+-]+)?)$`)
	sharedSuffix = regexp.MustCompile(`(?i)[-_ ]shared$`)
	genericName  = regexp.MustCompile(`^(?i:sm[-_ ]?)([0-9]{1,3})([0-9])$`)
)

// GPU finds a GPU by the name that people, nvidia-smi or GPU feature discovery
// use, with or without a MIG profile, in any case and with any separators.
// "sm_89" and "8.9" name every GPU of that compute capability. A name that is
// not known gives an [*UnknownNameError].
func (k *Knowledge) GPU(name string) (GPU, error) {
	bare, profile := splitSuffix(name)
	if i, ok := k.gpuIndex[spelling(bare)]; ok {
		g := k.rows.GPU[i].clone()
		g.MIG = profile
		return g, nil
	}
	if cc, ok := genericCC(bare); ok {
		if g, ok := k.genericGPU(cc); ok {
			return g, nil
		}
		return GPU{}, &UnknownNameError{Kind: "compute capability", Name: name, Nearest: k.nearestCapabilities(cc), Hint: gpusListed}
	}
	return GPU{}, &UnknownNameError{Kind: "GPU", Name: name, Nearest: spell.Nearest(spelling(bare), k.gpuNames()), Hint: gpusListed}
}

func genericCC(name string) (cuda.ComputeCapability, bool) {
	if m := genericName.FindStringSubmatch(name); m != nil {
		name = m[1] + "." + m[2]
	}
	cc, err := cuda.ParseComputeCapability(name)
	return cc, err == nil
}

// genericGPU stands for every GPU of one compute capability.
func (k *Knowledge) genericGPU(cc cuda.ComputeCapability) (GPU, bool) {
	c, ok := k.Capability(cc)
	if !ok {
		return GPU{}, false
	}
	g := GPU{Name: cuda.Arch{CC: cc}.String(), CC: cc, ForwardCompat: ForwardUnknown, Generic: true, Provenance: c.Provenance}
	k.completeGPU(&g)
	return g, true
}

func (k *Knowledge) nearestCapabilities(cc cuda.ComputeCapability) []string {
	var names []spell.Candidate
	for _, c := range k.rows.Capability {
		names = append(names, spell.Candidate{Name: cuda.Arch{CC: c.CC}.String(), Forms: []string{c.CC.String()}})
	}
	return spell.Nearest(cc.String(), names)
}

func (k *Knowledge) gpuNames() []spell.Candidate {
	var names []spell.Candidate
	for _, g := range k.rows.GPU {
		names = append(names, spell.Candidate{Name: g.Name, Forms: g.spellings()})
	}
	for _, c := range k.rows.Capability {
		name := cuda.Arch{CC: c.CC}.String()
		names = append(names, spell.Candidate{Name: name, Forms: []string{spelling(name)}})
	}
	return names
}
