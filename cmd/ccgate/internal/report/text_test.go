package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/golden"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules"
	"github.com/ccgate/ccgate/rules/coverage"
)

// newReport makes a report for one platform.
func newReport(targets []rules.TargetResult) *rules.Report {
	return &rules.Report{
		Schema: rules.Schema, Tool: rules.Tool{Name: "ccgate", Version: "1.2.3"}, Verdict: rules.Pass,
		Image: rules.Image{
			Reference: "registry.example/app:1", Source: facts.SourceImage, Digest: "sha256:" + strings.Repeat("ab", 32),
			Platforms: []rules.Platform{{Name: "linux/amd64", Layers: 3, Totals: facts.Totals{Bytes: 4_100_000_000, Files: 51_234, Objects: 812}}},
		},
		Targets: targets,
	}
}

func target(name, driver string, assumed bool, gpu string) rules.TargetResult {
	return rules.TargetResult{Name: name + "/" + gpu, Platform: "linux/amd64", Driver: driver, Assumed: assumed, GPU: gpu, CC: "8.0", Verdict: rules.Pass}
}

// object is a file; results gives its outcome on each target, as RESULT or RESULT/REASON.
func object(r *rules.Report, path string, role rules.Role, code string, results ...string) rules.Object {
	o := rules.Object{Path: path, Platform: "linux/amd64", Role: role, Code: strings.Fields(code)}
	for i, text := range results {
		result, reason, _ := strings.Cut(text, "/")
		o.Outcomes = append(o.Outcomes, rules.Outcome{Target: r.Targets[i].Name, Result: result, Reason: coverage.Reason(reason)})
	}
	return o
}

func finding(rule, slug string, level rules.Level, kind rules.Kind, message string, targets ...string) rules.Finding {
	return rules.Finding{
		Rule: rule, Slug: slug, Level: level, Kind: kind, Platform: "linux/amd64", Target: targets[0], Targets: targets,
		Message: message, Hint: "do this, and then that",
		Locations: []rules.Location{{Path: "/app/lib/libone.so", Layer: "sha256:0123456789abcdef", CreatedBy: "RUN |1 X=y /bin/sh -c make install # buildkit"}},
	}
}

// small has every kind of cell, finding and remark.
func small() *rules.Report {
	r := newReport([]rules.TargetResult{
		target("training", "535.104.05", false, "A100"), target("training", "535.104.05", false, "H100"),
		target("R470", "470.57.02", true, "A100"), target("R550", "550.54.14", true, "A100"), target("R550", "550.54.14", true, "H100"),
	})
	r.Verdict = rules.Fail
	r.Targets[2].Verdict, r.Targets[1].Verdict = rules.Fail, rules.Undecided
	r.Objects = []rules.Object{
		object(r, "/app/lib/libone.so", rules.RolePrimary, "sm_80 compute_80", "native", "jit", "none", "native", "jit"),
		object(r, "/app/lib/libtwo.so", rules.RolePrimary, "sm_80 sm_90a", "native", "undecided", "native", "native", "native"),
		object(r, "/opt/lib/libtwo.so", rules.RoleDispatch, "sm_80 sm_90", "native", "native", "native", "native", "native"),
		object(r, "/opt/lib/three\x1b[1m.so", rules.RolePrimary, "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 compute_90", "native", "native", "native", "native", "native"),
		object(r, "/opt/cuda_v11/four.so", rules.RoleVariant, "sm_80", "native", "none", "native", "native", "none"),
		object(r, "/opt/five.so", rules.RoleData, "sm_80", "absent", "absent", "absent", "absent", "absent"),
	}
	r.Findings = []rules.Finding{
		finding("CCG101", "driver-floor", rules.LevelError, rules.KindFail, "libone.so: too new for driver R470 (470.57.02): found CUDA 12; needs driver 525.60.13 or newer", "R470/A100"),
		finding("CCG206", "opaque-code", rules.LevelError, rules.KindOpen, "libtwo.so: cannot tell whether it runs on H100 (9.0) under 535.104.05: found an entry that is obfuscated; needs code that can be read", "training/H100"),
		finding("CCG205", "ptx-only", rules.LevelNote, rules.KindFail, "libone.so: compiled at start for H100 (9.0): found PTX for compute_80; needs sm_90 machine code", "training/H100"),
	}
	r.Findings[1].Locations = []rules.Location{{Path: "/a/1.so"}, {Path: "/a/2.so"}, {Path: "/a/3.so"}, {Path: "/a/4.so"}}
	r.Unread = []rules.Unread{{Platform: "linux/amd64", Location: rules.Location{Path: "/app/lib/libtwo.so"}, Reason: "cut off at byte 4096"}}
	r.Skipped = []rules.Unread{{Platform: "linux/amd64", Location: rules.Location{Path: "/tmp/x.whl"}, Reason: "a package archive"}}
	r.Image.NotRead = []string{"linux/arm64"}
	r.Image.Platforms[0].Shared = []rules.Shared{{Repository: "registry.example/team/facts", Layers: []string{"sha256:1", "sha256:2"}}}
	return r
}

// large is 40 libraries on 30 targets.
func large() *rules.Report {
	gpus := []string{"T4", "A100", "A10", "A30", "L4", "L40S", "H100", "H200", "B200", "B300"}
	var targets []rules.TargetResult
	for _, d := range []string{"535.54.03", "550.54.14", "580.65.06"} {
		for _, g := range gpus {
			targets = append(targets, target("R"+d[:3], d, true, g))
		}
	}
	r := newReport(targets)
	r.Verdict = rules.Fail
	for i := range 40 {
		var results []string
		for j := range targets {
			driver, gpu := j/len(gpus), j%len(gpus)
			result := "native"
			switch {
			case gpu == 0 && i%4 == 0, gpu >= 8 && i%3 == 0:
				result = "none"
			case gpu >= 6 && i%5 == 0 && driver == 0:
				result = "undecided"
			case gpu >= 6 && i%5 == 0:
				result = "jit"
			}
			results = append(results, result)
		}
		code := fmt.Sprintf("sm_80 sm_86 sm_90 compute_%d", 80+i%2*10)
		r.Objects = append(r.Objects, object(r, fmt.Sprintf("/opt/venv/lib/libpart%02d.so.12", i), rules.RolePrimary, code, results...))
	}
	r.Findings = []rules.Finding{finding("CCG201", "arch-missing", rules.LevelError, rules.KindFail, "libpart00.so.12: no code for T4 (7.5)", "R535/T4")}
	for i := range r.Targets {
		if i%10 == 0 || i%10 >= 8 {
			r.Targets[i].Verdict = rules.Fail
		}
	}
	return r
}

// reasons has every reason why nothing runs, every mark, and names that are hard to tell apart.
func reasons() *rules.Report {
	r := newReport([]rules.TargetResult{target("R535", "535.54.03", true, "A100"), target("R535", "535.54.03", true, "Orin")})
	wide := "sm_50 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_103 sm_120 sm_120a compute_50 compute_90 compute_120"
	r.Objects = []rules.Object{
		object(r, "/a/libcodec.so", rules.RolePrimary, wide, "none/codec", "none/missing"),
		object(r, "/a/libptx.so", rules.RolePrimary, "compute_80", "none/ptx", "none/tegra"),
		object(r, "/a/libsuffix.so", rules.RolePrimary, "sm_90a", "none/suffix", "none"),
		object(r, "/a/libunread.so", rules.RoleOptional, "", "none/unread", "undecided/opaque"),
		object(r, "/a/libdemand.so", rules.RoleOnDemand, "sm_80", "native", "none/missing"),
		object(r, "/opt/venv-one/lib/python3.12/site-packages/app/libsame.so", rules.RolePrimary, "sm_80", "native", "jit"),
		object(r, "/opt/venv-two/lib/python3.12/site-packages/app/libsame.so", rules.RolePrimary, "sm_80", "native", "jit"),
		object(r, "/opt/venv-two/lib/libother.so", rules.RolePrimary, "sm_80 sm_86", "native", "jit"),
	}
	return r
}

func TestText(t *testing.T) {
	passing := newReport([]rules.TargetResult{target("535.104.05", "535.104.05", false, "A100")})
	passing.Objects = []rules.Object{object(passing, "/k.so", rules.RolePrimary, "sm_80", "native")}
	warned := newReport(passing.Targets)
	warned.Findings = []rules.Finding{finding("CCG205", "ptx-only", rules.LevelWarning, rules.KindFail, "k.so: compiled at start", "535.104.05/A100")}
	elsewhere := newReport(passing.Targets)
	elsewhere.Image.Platforms = append(elsewhere.Image.Platforms, rules.Platform{Name: "linux/arm64"})
	unread := newReport(passing.Targets)
	unread.Unread = []rules.Unread{{Platform: "linux/amd64", Location: rules.Location{Path: "/a.so"}, Reason: "cut off"}}
	opt := report.Options{FailOn: rules.LevelError, Fleet: "ccgate.toml"}
	for _, c := range []struct {
		name string
		r    *rules.Report
		edit func(*report.Options)
	}{
		{"small", small(), nil},
		{"small-verbose", small(), func(o *report.Options) { o.Verbose = true }},
		{"small-quiet", small(), func(o *report.Options) { o.Quiet = true }},
		{"large", large(), nil},
		{"large-80", large(), func(o *report.Options) { o.Width = 80 }},
		{"passing", passing, nil},
		{"warned", warned, func(o *report.Options) { o.FailOn = rules.LevelWarning }},
		{"elsewhere", elsewhere, nil},
		{"reasons", reasons(), nil},
		{"reasons-80", reasons(), func(o *report.Options) { o.Width = 80 }},
		{"nothing-quiet", newReport(passing.Targets), func(o *report.Options) { o.Quiet = true }},
		{"unread", unread, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := opt
			if c.edit != nil {
				c.edit(&o)
			}
			var b bytes.Buffer
			require.NoError(t, report.Text(&b, c.r, o))
			golden.Check(t, "testdata/"+c.name+".txt", b.Bytes())
			lines := strings.Split(b.String(), "\n")
			if c.name == "large" {
				grid, _, _ := strings.Cut(b.String(), "\nerror ")
				require.Less(t, strings.Count(grid, "\n"), 36, "40 files on 30 targets fit on a screen")
			}
			for _, line := range lines {
				require.Equal(t, strings.TrimRight(line, " "), line, "no line ends in spaces")
			}
		})
	}
}

func TestStep(t *testing.T) {
	for in, want := range map[string]string{
		"/bin/sh -c #(nop) COPY dir:12 in /app ":     "COPY dir:12 in /app",
		"/bin/sh -c apt-get update":                  "RUN apt-get update",
		"RUN /bin/sh -c apt-get   update # buildkit": "RUN apt-get update",
		"|2 A=1 B=2 /bin/sh -c make":                 "RUN make",
		"RUN |1 A=1 /bin/sh -c make # buildkit":      "RUN make",
		"COPY /src /dst # buildkit":                  "COPY /src /dst",
		"":                                           "",
		"RUN /bin/sh -c " + strings.Repeat("pip install x && ", 20): "RUN pip install x && pip install x && pip install x && pip install x &&…",
		"bazel build ...": "bazel build ...",
	} {
		require.Equal(t, want, report.Step(in), in)
	}
}
