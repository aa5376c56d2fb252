package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/matrix/cuda"
)

func TestMatchGlob(t *testing.T) {
	cases := []struct {
		glob, path string
		want       bool
	}{
		{"/usr/bin/server", "/usr/bin/server", true},
		{"/usr/bin/server", "/opt/usr/bin/server", false},
		{"usr/bin/server", "/usr/bin/server", true},
		{"bin/server", "/opt/usr/bin/server", true},
		{"server", "/opt/usr/bin/server", true},
		{"server", "/opt/server/bin/x", false},
		{"*.so", "/a/b/c.so", true},
		{"/*.so", "/c.so", true},
		{"/*.so", "/a/c.so", false},
		{"*", "/a/b", true},
		{"opt/app/**/*.so", "/opt/app/x.so", true},
		{"opt/app/**/*.so", "/opt/app/a/b/x.so", true},
		{"opt/app/**/*.so", "/opt/app/a/b/x.so.1", false},
		{"**/cuda_v1[23]/**", "/usr/lib/ollama/cuda_v12/libggml-cuda.so", true},
		{"**/cuda_v1[23]/**", "/usr/lib/ollama/cuda_v11/libggml-cuda.so", false},
		{"/opt/**", "/opt/a", true},
		{"/opt/**", "/opt", true},
		{"/opt/**", "/opts/a", false},
		{"/**/x", "/x", true},
		{"/**/**/x", "/a/b/x", true},
		{"a/**/b/**/c", "/z/a/1/b/2/3/c", true},
		{"a/**/b/**/c", "/z/a/1/2/3/c", false},
		{"/opt/app/", "/opt/app", false},
		{"lib?.so", "/x/liba.so", true},
		{"lib[", "/x/lib[", false},
		{"x.so", "member.whl/x.so", true},
		{"/x.so", "x.so", false},
	}
	for _, c := range cases {
		require.Equal(t, c.want, matchGlob(strings.Split(c.glob, "/"), strings.Split(c.path, "/")), "%s on %s", c.glob, c.path)
	}
	require.False(t, matchAny(nil, "/x"))
	require.True(t, matchAny([]string{"y", "x"}, "/x"))
}

func TestVariantOf(t *testing.T) {
	cases := []struct{ path, key, member string }{
		{"/usr/lib/ollama/cuda_v12/libggml-cuda.so", "/usr/lib/ollama/cuda*/", "/usr/lib/ollama/cuda_v12"},
		{"/usr/lib/ollama/cuda_v13/libcudart.so.13", "/usr/lib/ollama/cuda*/", "/usr/lib/ollama/cuda_v13"},
		{"/usr/local/cuda-12.4/lib64/libx.so", "/usr/local/cuda*/", "/usr/local/cuda-12.4"},
		{"/opt/p/nvidia/cu13/lib/libcublas.so.13", "/opt/p/nvidia/cu*/", "/opt/p/nvidia/cu13"},
		{"/opt/wheels-cu126-x/a.so", "/opt/wheels-cu*-x/", "/opt/wheels-cu126-x"},
		{"/p/bitsandbytes/libbitsandbytes_cuda118.so", "/p/bitsandbytes/libbitsandbytes_cuda*.so", "/p/bitsandbytes/libbitsandbytes_cuda118.so"},
		{"/p/bitsandbytes/libbitsandbytes_cuda128.so", "/p/bitsandbytes/libbitsandbytes_cuda*.so", "/p/bitsandbytes/libbitsandbytes_cuda128.so"},
		{"cuda12/x.so", "cuda*/", "cuda12"},
		{"/usr/lib/libcudart.so.12", "", ""},
		{"/usr/lib/libcudnn.so.9", "", ""},
		{"/p/torch/lib/libtorch_cuda.so", "", ""},
		{"/p/cupy/cuda/thrust.so", "", ""},
		{"/usr/local/cuda/lib64/libx.so.12", "", ""},
		{"/opt/barracuda12/x.so", "", ""},
	}
	for _, c := range cases {
		key, member := variantOf(c.path)
		require.Equal(t, c.key, key, c.path)
		require.Equal(t, c.member, member, c.path)
	}
}

func TestSamePlatform(t *testing.T) {
	require.True(t, samePlatform("linux/amd64", "linux/amd64"))
	require.True(t, samePlatform("linux/arm64", "linux/arm64/v8"))
	require.True(t, samePlatform("linux/arm64/v8", "linux/arm64"))
	require.False(t, samePlatform("linux/arm64/v8", "linux/arm64/v9"))
	require.False(t, samePlatform("linux/amd64", "linux/arm64"))
	require.False(t, samePlatform("linux", "linux/arm64"))
}

func TestMajorsBetween(t *testing.T) {
	for _, c := range []struct {
		code, gpu string
		want      int
	}{
		{"5.2", "8.6", 3},
		{"8.0", "8.9", 0},
		{"8.0", "9.0", 1},
		{"8.0", "10.0", 2},
		{"9.0", "12.0", 2},
		{"10.0", "11.0", 0},
		{"10.0", "12.0", 1},
		{"3.5", "5.0", 1},
	} {
		code, err := cuda.ParseComputeCapability(c.code)
		require.NoError(t, err)
		gpu, err := cuda.ParseComputeCapability(c.gpu)
		require.NoError(t, err)
		require.Equal(t, c.want, majorsBetween(code, gpu), "%s on %s", c.code, c.gpu)
	}
}

// Findings that name many targets of code are cut.
func TestTargetList(t *testing.T) {
	many := strings.Fields(strings.Repeat("sm_80 ", 14))
	require.Equal(t, strings.Join(many[:12], " ")+" and 2 more", targetList(many))
	require.Equal(t, "sm_80 sm_80", targetList(many[:2]))
}

// Patterns with several "**" took time that grew with a power of the depth of a path.
func TestGlobsOfManyParts(t *testing.T) {
	p := strings.Split(strings.Repeat("/a", 2000)+"/x", "/")
	require.False(t, matchGlob(strings.Split("**"+strings.Repeat("/a/**", 200)+"/y", "/"), p))
	require.True(t, matchGlob(strings.Split("**"+strings.Repeat("/a/**", 200)+"/x", "/"), p))
	require.True(t, matchGlob(strings.Split(strings.Repeat("**/", 2000)+"x/**", "/"), p))
}
