package matrix

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/matrix/spell"
)

// target reads one [[target]] and checks that its driver can drive its GPUs.
func (r *fleetReader) target(table map[string]any, p tomlPath) Target {
	r.checkKeys(table, p, "[[target]]", targetKeys())
	var t Target
	t.Name = r.name(table, p)
	d, haveDriver := r.driver(table, p)
	t.Driver = d
	for _, e := range r.stringList(table, p, "gpus", `gpus = ["A100", "L4"]`) {
		g, err := r.k.GPU(e.text)
		if err != nil {
			r.failName(e.path, err)
			continue
		}
		if haveDriver {
			if err := r.k.CheckPair(d, g); err != nil {
				r.failPair(e.path, err)
			}
		}
		t.GPUs = addGPU(t.GPUs, g)
	}
	for _, e := range r.optionalList(table, p, "platforms", `platforms = ["linux/amd64"]`) {
		if !slices.Contains(platformNames(), platformBase(e.text)) {
			r.fail(r.at.of(e.path), fmt.Sprintf("unknown platform %q", e.text), spell.NearestOf(e.text, platformNames()), "")
			continue
		}
		t.Platforms = append(t.Platforms, e.text)
	}
	if _, ok := table["compat"]; ok {
		t.Compat = r.word(table, p, "compat", compatModes())
	}
	return t
}

// word reads a text that is one of a few.
func (r *fleetReader) word(table map[string]any, p tomlPath, key string, words []string) string {
	text, ok := r.text(table, p, key, fmt.Sprintf("%s = %q", key, words[0]))
	if ok && !slices.Contains(words, text) {
		r.fail(r.at.of(p.key(key)), fmt.Sprintf("%s is %q, want one of %s", key, text, quoteList(words)), spell.NearestOf(text, words), "")
	}
	return text
}

func (r *fleetReader) name(table map[string]any, p tomlPath) string {
	name, ok := r.text(table, p, "name", `name = "prod"`)
	if ok && strings.TrimSpace(name) == "" {
		r.fail(r.at.of(p.key("name")), "the name is empty", nil, "")
	}
	return name
}

func (r *fleetReader) driver(table map[string]any, p tomlPath) (Driver, bool) {
	text, ok := r.text(table, p, "driver", `driver = "535" or driver = "535.104.05"`)
	if !ok {
		return Driver{}, false
	}
	d, err := r.k.Driver(text)
	if err != nil {
		r.failName(p.key("driver"), err)
		return Driver{}, false
	}
	return d, true
}

// platformNames are the platforms for which NVIDIA publishes or published CUDA
// in containers.
func platformNames() []string {
	return []string{"linux/amd64", "linux/arm64", "linux/ppc64le"}
}

// platformBase drops the variant of os/architecture/variant.
func platformBase(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) == 3 && parts[2] != "" {
		return parts[0] + "/" + parts[1]
	}
	return name
}

// levels reads [rules].
func (r *fleetReader) levels(table map[string]any, p tomlPath, levels map[string]string) {
	for name, v := range table {
		if r.rules != nil && !slices.Contains(r.rules, name) {
			r.fail(r.at.ofKey(p.key(name)), fmt.Sprintf("unknown rule %q", name), spell.NearestOf(name, r.rules), "")
			continue
		}
		level, ok := v.(string)
		if !ok || !slices.Contains(levelNames(), level) {
			r.fail(r.at.of(p.key(name)), fmt.Sprintf("level of %s is %s, want one of %s", name, show(v), quoteList(levelNames())), spell.NearestOf(level, levelNames()), "")
			continue
		}
		levels[name] = level
	}
}

// globs reads a list of patterns of [files].
func (r *fleetReader) globs(table map[string]any, p tomlPath, key string) []string {
	var patterns []string
	for _, e := range r.optionalList(table, p, key, key+` = ["opt/app/**/*.so"]`) {
		if err := checkGlob(e.text); err != nil {
			r.fail(r.at.of(e.path), fmt.Sprintf("pattern %q: %v", e.text, err), nil, "")
			continue
		}
		patterns = append(patterns, e.text)
	}
	return patterns
}

func checkGlob(pattern string) error {
	if strings.Trim(pattern, "/") == "" {
		return errors.New("matches nothing")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "**" {
			continue
		}
		if strings.Contains(part, "**") {
			return errors.New("** must stand alone between slashes")
		}
		if _, err := path.Match(part, ""); err != nil {
			return errors.New("a bracket or backslash is not closed")
		}
	}
	return nil
}

// relaxed reads the Tegra GPUs of [tegra].
func (r *fleetReader) relaxed(table map[string]any, p tomlPath) []cuda.ComputeCapability {
	var relaxed []cuda.ComputeCapability
	for _, e := range r.optionalList(table, p, "relax", `relax = ["8.7"]`) {
		g, err := r.k.GPU(e.text)
		if err != nil {
			r.failName(e.path, err)
			continue
		}
		if !g.Tegra {
			r.fail(r.at.of(e.path), fmt.Sprintf("%s (compute capability %v) is not a Tegra GPU", e.text, g.CC), r.k.tegraNames(), "")
			continue
		}
		if !slices.Contains(relaxed, g.CC) {
			relaxed = append(relaxed, g.CC)
		}
	}
	return relaxed
}

// tegraNames are the newest Tegra compute capabilities, for a suggestion.
func (k *Knowledge) tegraNames() []string {
	var names []string
	for _, c := range slices.Backward(k.rows.Capability) {
		if c.Tegra && c.LastCUDA.IsZero() {
			names = append(names, c.CC.String())
		}
	}
	return names
}
