package matrix

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLibrary(t *testing.T) {
	k := load(t)
	cases := []struct {
		file, name string
		majors     []int
		dispatch   bool
		driver     bool
	}{
		{"libcublas.so.12", "cuBLAS", []int{12}, true, false},
		{"libcublas.so.12.4.5.8", "cuBLAS", []int{12}, true, false},
		{"/usr/local/cuda/lib64/libcublasLt.so.13", "cuBLASLt", []int{13}, true, false},
		{"libcudart.so.11.0", "CUDA runtime", []int{11}, false, false},
		{"libcudart-6d56b25a.so.11.0", "CUDA runtime", []int{11}, false, false},
		{"libcudart.so.10.2.89", "CUDA runtime", []int{10}, false, false},
		{"libcufft.so.11", "cuFFT", []int{12}, true, false},
		{"libcufft.so.12", "cuFFT", []int{13}, true, false},
		{"libcusparse.so.12", "cuSPARSE", []int{12, 13}, true, false},
		{"libcusolver.so.11", "cuSOLVER", []int{11, 12}, true, false},
		{"libcurand.so.10", "cuRAND", []int{10, 11, 12, 13}, true, false},
		{"libcudnn_ops.so.9.10.2", "cuDNN", []int{11, 12, 13}, true, false},
		{"libcudnn_cnn_infer.so.8", "cuDNN", []int{10, 11, 12}, true, false},
		{"libnvrtc-builtins.so.13.4", "NVRTC builtins", []int{13}, false, false},
		{"libnvrtc.so.11.2", "NVRTC", []int{11}, false, false},
		{"libnppig.so.12", "NPP", []int{12}, true, false},
		{"libnccl.so.2.27.5", "NCCL", nil, true, false},
		{"libnvinfer_builder_resource_sm90.so.10.13.3", "TensorRT builder resources", nil, false, false},
		{"libnvinfer.so.10", "TensorRT", []int{11, 12, 13}, true, false},
		{"libcusparseLt-f8b4a9fb.so.0", "cuSPARSELt", nil, true, false},
		{"libcutensor.so.2", "cuTENSOR", nil, true, false},
		{"libnvshmem_host.so.3", "NVSHMEM", nil, true, false},
		{"libnvjpeg.so.12", "nvJPEG", []int{12}, true, false},
		{"libcuda.so.1", "CUDA driver", nil, false, true},
		{"libcuda.so.615.71.09", "CUDA driver", nil, false, true},
		{"libcuda.so", "CUDA driver", nil, false, true},
		{"libnvidia-ml.so.1", "NVML", nil, false, true},
		{"libnvidia-ptxjitcompiler.so.1", "PTX JIT compiler", nil, false, true},
		{"libnvcuvid.so.1", "video decoder", nil, false, true},
	}
	for _, c := range cases {
		l, ok := k.Library(c.file)
		require.True(t, ok, c.file)
		require.Equal(t, c.name, l.Name, c.file)
		require.Equal(t, c.majors, l.Majors(c.file), c.file)
		require.Equal(t, c.dispatch, l.Dispatch, c.file)
		require.Equal(t, c.driver, l.DriverSide, c.file)
	}
	for _, file := range []string{"", "libc.so.6", "libcublas", "libcublas.sox", "libcublas.a", "cublas.so.12", ".so", "libtorch_cuda.so", "libcublasLtx.so.1"} {
		_, ok := k.Library(file)
		require.False(t, ok, file)
	}
	l, _ := k.Library("libcublas.so.12")
	require.Nil(t, l.Majors("libcublas.so.99"))
	require.Nil(t, l.Majors("libcublas.so.120"))
}

func TestLibraryCapability(t *testing.T) {
	k := load(t)
	for file, want := range map[string]string{"libcuda.so.1": "compute", "libnvidia-ml.so.1": "utility", "libnvidia-encode.so.1": "video", "libcublas.so.12": ""} {
		l, ok := k.Library(file)
		require.True(t, ok, file)
		require.Equal(t, want, l.Capability, file)
	}
}

// cuSPARSELt has no code below 8.0 by design. PyTorch needs it in every image, so its gaps
// are not those of the image: torch 2.6 for CUDA 12.4 works on a T4.
func TestSparseLtIsOnDemand(t *testing.T) {
	k, err := Load()
	require.NoError(t, err)
	lib, ok := k.Library("libcusparseLt-f8b4a9fb.so.0")
	require.True(t, ok)
	require.Equal(t, UseOnDemand, lib.Use)
	require.True(t, lib.Dispatch)
}
