package matrix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGPU(t *testing.T) {
	k := load(t)
	cases := []struct{ name, want, cc, mig string }{
		{"H100", "H100", "9.0", ""},
		{"h100 pcie", "H100 PCIe", "9.0", ""},
		{"NVIDIA H100 80GB HBM3", "H100", "9.0", ""},
		{"NVIDIA-H100-80GB-HBM3", "H100", "9.0", ""},
		{"A100", "A100", "8.0", ""},
		{"NVIDIA A100-SXM4-80GB", "A100 80GB", "8.0", ""},
		{"NVIDIA-A100-SXM4-80GB", "A100 80GB", "8.0", ""},
		{"NVIDIA-A100-80GB-PCIe", "A100 80GB PCIe", "8.0", ""},
		{"a100_sxm4_40gb", "A100", "8.0", ""},
		{"A100-SXM4-40GB-MIG-1g.5gb", "A100", "8.0", "1g.5gb"},
		{"NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "A100 80GB", "8.0", "3g.40gb"},
		{"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me", "H100", "9.0", "1g.10gb.me"},
		{"NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb", "H100", "9.0", "3g.40gb"},
		{"NVIDIA-A10G-SHARED", "A10G", "8.6", ""},
		{"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "A100", "8.0", "1g.5gb"},
		{"Tesla-T4", "T4", "7.5", ""},
		{"Tesla T4", "T4", "7.5", ""},
		{"T4", "T4", "7.5", ""},
		{"Tesla-V100-SXM2-32GB", "V100", "7.0", ""},
		{"A30", "A30", "8.0", ""},
		{"A10", "A10", "8.6", ""},
		{"NVIDIA-L40S", "L40S", "8.9", ""},
		{"L4", "L4", "8.9", ""},
		{"NVIDIA-GH200-480GB", "GH200", "9.0", ""},
		{"NVIDIA-B200", "B200", "10.0", ""},
		{"NVIDIA-B300-SXM6-AC", "B300", "10.3", ""},
		{"NVIDIA-GB200", "GB200", "10.0", ""},
		{"GB300", "GB300", "10.3", ""},
		{"RTX 4090", "RTX 4090", "8.9", ""},
		{"NVIDIA GeForce RTX 5090", "RTX 5090", "12.0", ""},
		{"GeForce-RTX-3090", "RTX 3090", "8.6", ""},
		{"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTX PRO 6000 Blackwell Server", "12.0", ""},
		{"Quadro-RTX-6000", "Quadro RTX 6000", "7.5", ""},
		{"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9", ""},
		{"DGX Spark", "GB10", "12.1", ""},
		{"Orin", "Jetson Orin", "8.7", ""},
		{"Thor", "Jetson Thor", "11.0", ""},
		{"K80", "K80", "3.7", ""},
		{"Vera Rubin", "VR200", "10.7", ""},
		{"sm_89", "sm_89", "8.9", ""},
		{"SM89", "sm_89", "8.9", ""},
		{"sm_120", "sm_120", "12.0", ""},
		{"8.9", "sm_89", "8.9", ""},
		{"10.1", "sm_101", "10.1", ""},
	}
	for _, c := range cases {
		g, err := k.GPU(c.name)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, g.Name, c.name)
		require.Equal(t, c.cc, g.CC.String(), c.name)
		require.Equal(t, c.mig, g.MIG, c.name)
		require.Equal(t, strings.HasPrefix(c.want, "sm_"), g.Generic, c.name)
		require.NotEmpty(t, g.Arch, c.name)
	}
}

// Every name of every row, as nvidia-smi prints it and as a node label, finds
// its own row.
func TestEveryGPUNameIsFound(t *testing.T) {
	k := load(t)
	for _, row := range k.GPUs() {
		for _, name := range append(append([]string{row.Name}, row.Products...), row.Aliases...) {
			for _, form := range []string{name, strings.ReplaceAll(name, " ", "-"), strings.ToUpper(name), name + "-MIG-1g.5gb"} {
				g, err := k.GPU(form)
				require.NoError(t, err, form)
				require.Equal(t, row.Name, g.Name, form)
			}
		}
	}
}

func TestGPUFacts(t *testing.T) {
	k := load(t)
	cases := []struct {
		name, first string
		grade       Grade
		last        int
		tegra       bool
		forward     string
	}{
		{"V100", "384.98", GradeB, 580, false, ForwardYes},
		{"TITAN V", "390.12", GradeB, 580, false, ForwardNo},
		{"T4", "410.78", GradeB, 0, false, ForwardYes},
		{"A100", "450.51", GradeB, 0, false, ForwardYes},
		{"A100 80GB PCIe", "470.57.02", GradeB, 0, false, ForwardYes},
		{"L4", "525.85.12", GradeC, 0, false, ForwardYes},
		{"L40S", "535.54.03", GradeC, 0, false, ForwardYes},
		{"RTX 4090", "520.56.06", GradeD, 0, false, ForwardNo},
		{"H200", "550.54.14", GradeC, 0, false, ForwardYes},
		{"B200", "570.86.15", GradeB, 0, false, ForwardYes},
		{"B300", "580.82.07", GradeB, 0, false, ForwardYes},
		{"RTX 5090", "570.86.16", GradeB, 0, false, ForwardNo},
		{"GB10", "580.95.05", GradeC, 0, false, ForwardUnknown},
		{"Jetson Orin", "470.42.01", GradeC, 0, true, ForwardUnknown},
		{"K80", "384.81", GradeC, 470, false, ForwardYes},
		{"P40", "367.57", GradeB, 580, false, ForwardYes},
	}
	for _, c := range cases {
		g, err := k.GPU(c.name)
		require.NoError(t, err)
		require.Equal(t, c.first, g.FirstDriver.String(), c.name)
		require.Equal(t, c.grade, g.FirstGrade, c.name)
		require.Equal(t, c.last, g.LastBranch, c.name)
		require.Equal(t, c.tegra, g.Tegra, c.name)
		require.Equal(t, c.forward, g.ForwardCompat, c.name)
	}
}

func TestUnknownNames(t *testing.T) {
	k := load(t)
	cases := []struct {
		name, kind, first string
	}{
		{"H10", "GPU", "H100"},
		{"A1O0", "GPU", "A100"},
		{"RTX 4900", "GPU", "RTX 4090"},
		{"A100-SXM5", "GPU", "A100"},
		{"L40X", "GPU", "L40"},
		{"NVIDIA-H100-SXM5-96GB", "GPU", "H100"},
		{"sm_90a", "GPU", "sm_90"},
		{"sm_99", "compute capability", "sm_90"},
		{"8.5", "compute capability", "sm_80"},
		{"", "GPU", ""},
		{"MIG 1g.5gb", "GPU", ""},
		{strings.Repeat("x", 4096), "GPU", ""},
	}
	for _, c := range cases {
		_, err := k.GPU(c.name)
		var unknown *UnknownNameError
		require.ErrorAs(t, err, &unknown, c.name)
		require.Equal(t, c.kind, unknown.Kind, c.name)
		require.LessOrEqual(t, len(unknown.Nearest), 3)
		if c.first != "" {
			require.NotEmpty(t, unknown.Nearest, c.name)
			require.Equal(t, c.first, unknown.Nearest[0], "%s: %v", c.name, unknown.Nearest)
		}
	}
}

func TestDriver(t *testing.T) {
	k := load(t)
	cases := []struct {
		name, version, text string
		assumed             bool
	}{
		{"535", "535.54.03", "R535", true},
		{"R535", "535.54.03", "R535", true},
		{" r550 ", "550.54.14", "R550", true},
		{"570", "570.86.10", "R570", true},
		{"580", "580.65.06", "R580", true},
		{"620", "620.70.06", "R620", true},
		{"535.104.05", "535.104.05", "535.104.05", false},
		{"R535.104.05", "535.104.05", "535.104.05", false},
		{"455.32", "455.32", "455.32", false},
		{"535.43.02", "535.43.02", "535.43.02", false}, // beta, below the first
		{"570.26", "570.26", "570.26", false},          // as NVIDIA's table prints it
		{"535.999.99", "535.999.99", "535.999.99", false},
	}
	for _, c := range cases {
		d, err := k.Driver(c.name)
		require.NoError(t, err, c.name)
		require.Equal(t, c.version, d.Version.String(), c.name)
		require.Equal(t, c.text, d.String(), c.name)
		require.Equal(t, c.assumed, d.Assumed, c.name)
		require.Equal(t, d.Version.Branch, d.Branch.Number)
	}
	for name, nearest := range map[string][]string{
		"536": {"R535", "R530", "R545"}, "585": {"R580", "R590", "R575"}, "R700": {"R620", "R615", "R610"}, "537.13": {"R535", "R530", "R545"}, "9999": {"R620", "R615", "R610"},
	} {
		_, err := k.Driver(name)
		var unknown *UnknownNameError
		require.ErrorAs(t, err, &unknown, name)
		require.Equal(t, nearest, unknown.Nearest, name)
		require.True(t, strings.HasSuffix(err.Error(), "(ccgate matrix show drivers lists them)"), err)
	}
	for name, want := range map[string]string{
		"535.1":    "R535 begins with 535.54.03",
		"580.1.2":  "R580 begins with 580.65.06",
		"":         "want a branch",
		"R":        "want a branch",
		"latest":   "want a branch",
		"53":       "is that a CUDA version?",
		"535.":     "want a branch",
		"5.3.5.0":  "want a branch",
		"-35":      "want a branch",
		"12.4":     "is that a CUDA version? drivers are written 550.54.15 or 550",
		"13":       "is that a CUDA version?",
		"RR535":    "want a branch",
		"0535":     "want a branch",
		"99999999": "want a branch",
	} {
		_, err := k.Driver(name)
		require.ErrorContains(t, err, want, name)
	}
}

func TestCheckPair(t *testing.T) {
	k := load(t)
	cases := []struct{ driver, gpu, want string }{
		{"580", "V100", ""},
		{"590", "V100", "driver R590 cannot drive V100 (compute capability 7.0): Volta GPUs are driven up to R580; use R580 or older"},
		{"620", "P100", "Pascal GPUs are driven up to R580"},
		{"620", "T4", ""},
		{"495", "K80", "Kepler GPUs are driven up to R470"},
		{"470", "K80", ""},
		{"535", "B200", "driver R535 cannot drive B200 (compute capability 10.0): compute capability 10.0 is known from R565 on; use R570 or newer"},
		{"565", "B200", "the model is listed from R570 on"},
		{"570", "B200", ""},
		{"550", "RTX 5090", "compute capability 12.0 is known from R570 on"},
		{"570.86.15", "RTX 5090", "the model is listed from 570.86.16 on"},
		{"570.86.16", "RTX 5090", ""},
		{"580", "B300", ""}, // the branch named alone: some version of it
		{"580.65.06", "B300", "the model is listed from 580.82.07 on; use 580.82.07 or newer"},
		{"580.82.07", "B300", ""},
		{"535", "H200", ""},                          // long-term branch that knows 9.0
		{"570", "RTX PRO 6000 Blackwell Server", ""}, // production branch that knows 12.0
		{"545", "H200", "the model is listed from R550 on"},
		{"535.54.03", "L40S", ""}, // only the branch is known
		{"520", "RTX 4090", ""},   // first driver graded D refuses nothing
		{"470", "L4", "compute capability 8.9 is known from R520 on"},
		{"470", "sm_80", ""},
		{"450", "8.9", "driver R450 cannot drive sm_89"},
		{"595", "Orin", ""},
		{"595", "Xavier", "Volta GPUs are driven up to R580"},
		{"610", "Vera Rubin", "known from R615 on"},
		{"384", "P40", ""},
	}
	for _, c := range cases {
		d, err := k.Driver(c.driver)
		require.NoError(t, err)
		g, err := k.GPU(c.gpu)
		require.NoError(t, err)
		err = k.CheckPair(d, g)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		var pair *PairError
		require.ErrorAs(t, err, &pair, "%s on %s", c.gpu, c.driver)
		require.Contains(t, err.Error(), c.want)
	}
}
