package matrix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/matrix/cuda"
)

func version(t testing.TB, s string) cuda.Version {
	t.Helper()
	v, err := cuda.ParseVersion(s)
	require.NoError(t, err)
	return v
}

func capability(t testing.TB, s string) cuda.ComputeCapability {
	t.Helper()
	cc, err := cuda.ParseComputeCapability(s)
	require.NoError(t, err)
	return cc
}

func TestRuntimeFloor(t *testing.T) {
	k := load(t)
	cases := []struct {
		version, driver string
		exact           bool
		grade           Grade
	}{
		{"9.0", "384.81", true, GradeA},
		{"9.2", "396.26", true, GradeA},
		{"10.2", "440.33", true, GradeA},
		{"11.0", "450.36.06", false, GradeA},
		{"11", "450.36.06", false, GradeA},
		{"11.1", "450.80.02", false, GradeA},
		{"11.8", "450.80.02", false, GradeA},
		{"12", "525.60.13", false, GradeA},
		{"12.7", "525.60.13", false, GradeA},
		{"12.9", "525.60.13", false, GradeA},
		{"13.0", "580.65.06", false, GradeA},
		{"13.5", "580.65.06", false, GradeA},
	}
	for _, c := range cases {
		f, ok := k.RuntimeFloor(version(t, c.version))
		require.True(t, ok, c.version)
		require.Equal(t, c.driver, f.Driver.String(), c.version)
		require.Equal(t, c.exact, f.Exact, c.version)
		require.Equal(t, c.grade, f.Grade, c.version)
	}
	for _, v := range []string{"8.0", "10.3", "14.0", "0.0"} {
		_, ok := k.RuntimeFloor(version(t, v))
		require.False(t, ok, v)
	}
}

func TestReleaseDrivers(t *testing.T) {
	k := load(t)
	for update, want := range map[string]string{"GA": "560.28.03", "U1, U2": "560.35.03", "U3": "560.35.05"} {
		found := false
		for _, r := range k.ReleasesOf(version(t, "12.6")) {
			if r.Update == update {
				found = true
				require.Equal(t, want, r.MinDriver.String())
			}
		}
		require.True(t, found, update)
	}
	require.Empty(t, k.ReleasesOf(version(t, "12.7")), "CUDA 12.7 was never a toolkit")
	require.Len(t, k.Releases(), 57)
}

func TestCodecFloor(t *testing.T) {
	k := load(t)
	f, ok := k.CodecFloor("zstd")
	require.True(t, ok)
	require.Equal(t, "550.54.14", f.Driver.String())
	require.True(t, f.Firm())
	for _, codec := range []string{"", "lz4", "legacy"} {
		_, ok := k.CodecFloor(codec)
		require.False(t, ok, codec)
	}
}

func TestPTX(t *testing.T) {
	k := load(t)
	cases := []struct {
		isa     string
		branch  int
		release string
		grade   Grade
	}{
		{"3.2", 384, "", GradeA}, // older than the table: every branch takes it
		{"4.2", 384, "7.0", GradeA},
		{"6.1", 390, "9.1", GradeA},
		{"6.3", 410, "10.0", GradeA},
		{"7.0", 450, "11.0", GradeA},
		{"8.2", 535, "12.2", GradeA},
		{"8.4", 550, "12.4", GradeA},
		{"8.5", 555, "12.5", GradeA},
		{"8.6", 565, "12.7", GradeA},
		{"8.7", 570, "12.8", GradeA},
		{"8.8", 575, "12.9", GradeA},
		{"9.0", 580, "13.0", GradeA},
		{"9.4", 615, "13.4", GradeA},
		{"9.5", 620, "13.5", GradeC},
	}
	for _, c := range cases {
		f, ok := k.PTXDriver(version(t, c.isa))
		require.True(t, ok, c.isa)
		require.Equal(t, c.branch, f.Branch, c.isa)
		require.Equal(t, c.grade, f.Grade, c.isa)
		release, ok := k.ReleaseForPTX(version(t, c.isa))
		require.Equal(t, c.release != "", ok, c.isa)
		if ok {
			require.Equal(t, c.release, release.String(), c.isa)
			isa, ok := k.PTXForRelease(release)
			require.True(t, ok)
			require.Equal(t, c.isa, isa.String())
		}
	}
	for _, isa := range []string{"7.9", "9.6", "0.0"} {
		_, ok := k.PTXDriver(version(t, isa))
		require.False(t, ok, isa)
	}
	isa, ok := k.PTXForRelease(version(t, "12.6"))
	require.True(t, ok)
	require.Equal(t, "8.5", isa.String())
}

func TestArchDriver(t *testing.T) {
	k := load(t)
	for cc, want := range map[string]int{
		"3.5": 384, "5.2": 384, "7.0": 384, "7.5": 410, "8.0": 450, "8.6": 455, "8.7": 470, "8.9": 520, "9.0": 520,
		"10.0": 565, "10.1": 565, "12.0": 570, "10.3": 575, "12.1": 575, "8.8": 580, "11.0": 580, "10.7": 615,
	} {
		f, ok := k.ArchDriver(capability(t, cc))
		require.True(t, ok, cc)
		require.Equal(t, want, f.Branch, cc)
	}
	_, ok := k.ArchDriver(capability(t, "13.0"))
	require.False(t, ok)
}

func TestTegra(t *testing.T) {
	k := load(t)
	var tegra []string
	for _, c := range k.Capabilities() {
		if c.Tegra {
			tegra = append(tegra, c.CC.String())
		}
	}
	require.Equal(t, []string{"3.2", "5.3", "6.2", "7.2", "8.7", "10.1", "11.0"}, tegra)

	a, ok := k.Alias(capability(t, "10.1"))
	require.True(t, ok)
	require.Equal(t, "11.0", a.CC.String())
	require.False(t, a.Firm(), "no error may rest on the alias")
	a, ok = k.Alias(capability(t, "11.0"))
	require.True(t, ok)
	require.Equal(t, "10.1", a.CC.String())
	_, ok = k.Alias(capability(t, "10.0"))
	require.False(t, ok)
}

func TestFamily(t *testing.T) {
	k := load(t)
	for cc, want := range map[string]map[string]Grade{
		"10.0": {"10.0": GradeA, "10.3": GradeA, "10.7": GradeC},
		"10.3": {"10.3": GradeA, "10.7": GradeC},
		"10.7": {"10.7": GradeA},
		"10.1": {"10.1": GradeA},
		"11.0": {"11.0": GradeA},
		"12.0": {"12.0": GradeA, "12.1": GradeA},
		"12.1": {"12.1": GradeA},
		"9.0":  {},
	} {
		got := map[string]Grade{}
		for _, m := range k.Family(capability(t, cc)) {
			got[m.CC.String()] = m.Grade
		}
		require.Equal(t, want, got, cc)
	}
	require.Len(t, k.Families(), 7)
}

func TestForwardPackage(t *testing.T) {
	k := load(t)
	p, ok := k.ForwardPackage(version(t, "12.8"))
	require.True(t, ok)
	require.Equal(t, 570, p.Driver)
	require.Equal(t, []int{535}, p.Hosts)
	require.Contains(t, p.Refused, 580)
	p, ok = k.ForwardPackage(version(t, "13.5"))
	require.True(t, ok)
	require.Equal(t, GradeC, p.Grade)
	_, ok = k.ForwardPackage(version(t, "12.7"))
	require.False(t, ok)
}
