package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleaseThatAFileSays(t *testing.T) {
	const nvcc = "Cuda compilation tools, release 12.4, V12.4.127\x00"
	cases := []struct{ name, file, data, want string }{
		{"NCCL", "usr/lib/libnccl.so.2", "%s:%d NCCL version %s\x00NCCL version 2.21.5+cuda12.4\x00", "2.21.5"},
		{"nvJitLink", "libnvJitLink.so.12", "\x00" + nvcc, "12.4.127"},
		{"NVRTC", "libnvrtc.so.12", nvcc, "12.4.127"},
		{"a library that was compiled by it", "libnvperf_host.so", nvcc, ""},
		{"the builtins of NVRTC", "libnvrtc-builtins.so.12.4", nvcc, ""},
		{"without a CUDA release", "libnccl.so.2", "NCCL version 2.21.5\x00", ""},
		{"a program that prints it", "all_reduce_perf", "NCCL version 2.21.5+cuda12.4", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := library()
			o.Data = []byte(c.data)
			f := complete(t, c.file, o.Bytes())
			if c.want == "" {
				require.Nil(t, f.Release)
				return
			}
			require.NotNil(t, f.Release)
			require.Equal(t, c.want, f.Release.Version)
		})
	}
}
