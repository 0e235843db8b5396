/* The part of mlx5dv that host parts of DPA programs use, for machines without rdma-core's
 * headers: shapes of queue entries, and steering. Layouts agree with rdma-core and the hardware.
 */
#pragma once

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A completion. Fields of more than one byte are big endian. */
struct mlx5_cqe64 {
	uint8_t unused[44];
	uint32_t byte_cnt;
	uint64_t timestamp;
	uint32_t sop_drop_qpn;
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

/* A buffer of a work request. All fields are big endian. */
struct mlx5_wqe_data_seg {
	uint32_t byte_count;
	uint32_t lkey;
	uint64_t addr;
};

static inline uint8_t mlx5dv_get_cqe_owner(struct mlx5_cqe64 *cqe)
{
	return cqe->op_own & 1;
}

static inline void mlx5dv_set_cqe_owner(struct mlx5_cqe64 *cqe, uint8_t owner)
{
	cqe->op_own = (uint8_t)((cqe->op_own & ~1) | (owner & 1));
}

static inline uint8_t mlx5dv_get_cqe_opcode(struct mlx5_cqe64 *cqe)
{
	return cqe->op_own >> 4;
}

static inline void mlx5dv_set_data_seg(struct mlx5_wqe_data_seg *segment, uint32_t length,
				       uint32_t lkey, uintptr_t address)
{
	segment->byte_count = htobe32(length);
	segment->lkey = htobe32(lkey);
	segment->addr = htobe64(address);
}

struct mlx5dv_flow_match_parameters {
	size_t match_sz;
	uint64_t match_buf[];
};

enum mlx5dv_dr_domain_type {
	MLX5DV_DR_DOMAIN_TYPE_NIC_RX,
	MLX5DV_DR_DOMAIN_TYPE_NIC_TX,
	MLX5DV_DR_DOMAIN_TYPE_FDB,
};

struct mlx5dv_devx_obj;
struct mlx5dv_dr_domain;
struct mlx5dv_dr_table;
struct mlx5dv_dr_matcher;
struct mlx5dv_dr_action;
struct mlx5dv_dr_rule;

enum mlx5dv_dr_action_dest_type { MLX5DV_DR_ACTION_DEST, MLX5DV_DR_ACTION_DEST_REFORMAT };
struct mlx5dv_dr_action_dest_attr {
	enum mlx5dv_dr_action_dest_type type;
	struct mlx5dv_dr_action *dest;
};

struct mlx5dv_devx_uar {
	void *reg_addr;
	void *base_addr;
	uint32_t page_id;
	off_t mmap_off;
	uint64_t comp_mask;
};
struct mlx5dv_context_attr {
	uint32_t flags;
	uint64_t comp_mask;
};
#define MLX5DV_CONTEXT_FLAGS_DEVX 1
#define MLX5DV_UAR_ALLOC_TYPE_BF 0
#define MLX5DV_UAR_ALLOC_TYPE_NC 1

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr);
struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags);
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *uar);

struct mlx5dv_dr_domain *mlx5dv_dr_domain_create(struct ibv_context *context,
						 enum mlx5dv_dr_domain_type type);
int mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain *domain);
struct mlx5dv_dr_table *mlx5dv_dr_table_create(struct mlx5dv_dr_domain *domain, uint32_t level);
int mlx5dv_dr_table_destroy(struct mlx5dv_dr_table *table);
struct mlx5dv_dr_matcher *mlx5dv_dr_matcher_create(struct mlx5dv_dr_table *table,
						   uint16_t priority, uint8_t criteria,
						   struct mlx5dv_flow_match_parameters *mask);
int mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher *matcher);
struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_devx_tir(struct mlx5dv_devx_obj *tir);
struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_table(struct mlx5dv_dr_table *table);
struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_vport(struct mlx5dv_dr_domain *domain,
							     uint32_t port);
struct mlx5dv_dr_action *mlx5dv_dr_action_create_default_miss(void);
struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_array(struct mlx5dv_dr_domain *domain, size_t count,
				   struct mlx5dv_dr_action_dest_attr *places[]);
int mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *action);
struct mlx5dv_dr_rule *mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher *matcher,
					     struct mlx5dv_flow_match_parameters *value,
					     size_t count, struct mlx5dv_dr_action *actions[]);
int mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule *rule);

#ifdef __cplusplus
}
#endif
