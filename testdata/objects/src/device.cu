// Device code without a kernel: a function that only a device link can use.
extern "C" __device__ float twice(float a) { return a + a; }
