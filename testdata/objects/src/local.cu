// Kernel with internal linkage: its symbol is local in the cubin.
static __global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }

extern "C" void launch(float *x, float a) { scale<<<1, 32>>>(x, a); }
