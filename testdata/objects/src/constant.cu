// Device data without code.
__constant__ int table[4] = {1, 2, 3, 4};
