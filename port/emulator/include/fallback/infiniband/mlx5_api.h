#include <infiniband/mlx5dv.h>
