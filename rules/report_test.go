package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

// objects prints the objects of a report as "ROLE NAME: RESULT[ BY]…".
func objects(r *rules.Report) []string {
	out := []string{}
	for _, o := range r.Objects {
		var results []string
		for _, c := range o.Outcomes {
			text := c.Result
			if c.Result == "native" || c.Result == "jit" {
				text += " " + c.By
			} else if c.Reason != "" {
				text += " " + string(c.Reason)
			}
			results = append(results, text)
		}
		name := o.Path[strings.LastIndex(o.Path, "/")+1:]
		out = append(out, fmt.Sprintf("%s %s: %s", o.Role, name, strings.Join(results, ", ")))
	}
	return out
}

func TestObjects(t *testing.T) {
	k := knowledge(t)
	for of, want := range map[string][]string{
		"CCG201/silent_image_without_gpu_code": {},
		"CCG201/silent_object_files":           {"primary libkernels.so: native sm_80"},
		"CCG201/fires_on_one_platform_only":    {"primary libtorch_cuda.so: native sm_90", "primary libtorch_cuda.so: none missing"},
		"CCG201/fires_variant_that_another_serves": {
			"variant libggml-cuda.so: native sm_80, native sm_61, native sm_80, none missing",
			"variant libggml-cuda.so: native sm_80, none missing, native sm_80, native sm_100",
		},
		"CCG201/silent_library_that_dispatches": {"dispatch libcublasLt.so.12: native sm_80, native sm_90, native sm_120"},
		"CCG201/fires_library_for_one_feature":  {"primary libtorch_cuda.so: native sm_75", "on-demand libtorch_cuda_linalg.so: none missing"},
		"CCG201/fires_file_for_another_gpu":     {"optional libnvinfer_builder_resource_sm80.so.10.13.3: native sm_80", "optional libnvinfer_builder_resource_sm90.so.10.13.3: none missing"},
		"CCG201/fires_cubin_file_is_a_note":     {"data fmha_sm80.cubin: none missing", "data fmha_sm90.cubin: native sm_90"},
		"CCG201/fires_single_file":              {"primary fmha_sm80.cubin: none missing"},
		"CCG201/fires_required_backend":         {"primary moe_utils.so: none missing", "optional norm.so: native sm_121a"},
		"CCG102/fires_text_in_data":             {"data mistralrs-server: none ptx, jit compute_80"},
		"CCG103/fires_nvcc_12_8_on_535":         {"primary libggml-cuda.so: none codec, none codec, native sm_80"},
		"CCG206/open_obfuscated":                {"primary libkernels.so: undecided opaque"},
	} {
		require.Equal(t, want, objects(named(t, of).check(t, k)), of)
	}
}

// The report repeats what was judged, and what was not read.
func TestReportOfTheImage(t *testing.T) {
	k := knowledge(t)
	img := &facts.Image{
		Reference: "app:1", Source: facts.SourceImage, Digest: "sha256:1", NotRead: []string{"linux/arm64"},
		Platforms: []facts.Platform{{
			Name: "linux/amd64", Digest: "sha256:2", Layers: []facts.Layer{{Digest: "sha256:3", CreatedBy: "COPY . /app"}},
			Unread:  []facts.Unread{{Path: "/app/a.so", Layer: 0, Reason: "cut off"}},
			Skipped: []facts.Unread{{Path: "/app/b.whl", Layer: facts.NoLayer, Reason: "a wheel inside a layer"}},
			Totals:  facts.Totals{Bytes: 9, Files: 2},
		}},
	}
	fleet, err := k.FleetOf([]string{"A100"}, []string{"535"})
	require.NoError(t, err)
	fleet.File = "ccgate.toml"
	r := rules.Check(rules.Tool{Name: "ccgate", Version: "1"}, img, k, fleet)

	require.Equal(t, rules.Schema, r.Schema)
	require.Equal(t, rules.Tool{Name: "ccgate", Version: "1"}, r.Tool)
	require.Equal(t, rules.Fleet{File: "ccgate.toml"}, r.Fleet)
	require.Equal(t, rules.Image{
		Reference: "app:1", Source: facts.SourceImage, Digest: "sha256:1", NotRead: []string{"linux/arm64"},
		Platforms: []rules.Platform{{Name: "linux/amd64", Digest: "sha256:2", Layers: 1, Totals: facts.Totals{Bytes: 9, Files: 2}}},
	}, r.Image)
	brought := rules.Location{Path: "/app/a.so", Layer: "sha256:3", CreatedBy: "COPY . /app"}
	require.Equal(t, []rules.Unread{{Platform: "linux/amd64", Location: brought, Reason: "cut off"}}, r.Unread)
	require.Equal(t, []rules.Unread{{Platform: "linux/amd64", Location: rules.Location{Path: "/app/b.whl"}, Reason: "a wheel inside a layer"}}, r.Skipped)
	require.Equal(t, []rules.TargetResult{{
		Name: "R535/A100", Platform: "linux/amd64", Driver: "535.54.03", Assumed: true, GPU: "A100", CC: "8.0", Verdict: rules.Undecided,
	}}, r.Targets)
	require.Equal(t, []rules.Location{brought}, r.Findings[0].Locations)
}

// What was judged on no target has no passing verdict.
func TestNoTargetIsNoPass(t *testing.T) {
	k := knowledge(t)
	s := named(t, "CCG201/silent_platform_that_the_fleet_lacks")
	fleet := s.fleet(t, k)
	fleet.Targets[0].Platforms = []string{"linux/ppc64le"}
	r := rules.Check(rules.Tool{}, s.image(t), k, fleet)
	require.Empty(t, r.Targets)
	require.Empty(t, r.Findings)
	require.Equal(t, rules.Undecided, r.Verdict)

	require.Equal(t, rules.Undecided, rules.Check(rules.Tool{}, &facts.Image{}, k, s.fleet(t, k)).Verdict)
	require.Equal(t, rules.Undecided, rules.Check(rules.Tool{}, s.image(t), k, &matrix.Fleet{}).Verdict)
}

// Files that fail alike on the same targets are one finding, named up to three.
func TestFilesAreMerged(t *testing.T) {
	k := knowledge(t)
	s := named(t, "CCG201/fires_stub_is_no_code")
	img := s.image(t)
	p := &img.Platforms[0]
	for _, name := range []string{"/opt/app/b.so", "/opt/app/c.so", "/opt/app/d.so"} {
		f := p.Files[1]
		f.Path = name
		p.Files = append(p.Files, f)
	}
	r := rules.Check(rules.Tool{}, img, k, s.fleet(t, k))
	require.Len(t, r.Findings, 1)
	require.Len(t, r.Findings[0].Locations, 4)
	require.Contains(t, r.Findings[0].Message, "b.so, c.so, d.so and 1 more: no code for A100")

	// With another target that only one of them fails, that one stands apart.
	p.Files[4].Code = &facts.Code{Containers: []facts.Container{{Entries: []facts.Entry{{Kind: facts.EntryCubin, Target: "sm_70"}}}}}
	p.Files[4].Code.Containers[0].Entries = append(p.Files[4].Code.Containers[0].Entries, facts.Entry{Kind: facts.EntryCubin, Target: "sm_90"})
	r = rules.Check(rules.Tool{}, img, k, s.fleet(t, k))
	require.Len(t, r.Findings, 2)
}
