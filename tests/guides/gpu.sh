# docs/guides/gpu.md, on whatever OpenCL device there is: the numbers of the CPU, the same bytes from two ranks.
. "$(dirname "$0")/guide.bash"
follow gpu
plan
