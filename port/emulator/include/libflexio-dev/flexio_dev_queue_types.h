/* Entries of queues as the NIC reads and writes them: big endian, byte offsets in comments. */
#pragma once

#include <stdint.h>
#include <libflexio-dev/flexio_dev_endianity.h>

/* A send queue entry has 4 segments of 16 bytes. */
#define LOG_SQE_NUM_SEGS 2
#define LOG_CQE_BSIZE 6

struct flexio_dev_cqe64 {
	__be32 rsvd00[5];
	__be16 csum_ok; /* 14 */
	uint8_t rsvd22[2];
	__be32 rsvd24[2];
	__be32 srqn_uidx; /* 20 */
	union {
		struct {
			__be32 imm_inval_pkey; /* 24 */
			__be32 rsvd40;
		};
		__be32 rsvd36[2];
	};
	__be32 byte_cnt; /* 2c */
	__be32 rsvd48;
	uint8_t hw_err_syndrome; /* 34 */
	uint8_t rsvd53;
	uint8_t vendor_err_synd;
	uint8_t syndrome; /* 37 */
	union {
		__be32 qpn; /* 38: opcode of the send, and the QP's number */
		struct {
			uint8_t s_wqe_opcode;
			uint8_t qpn24[3];
		};
	};
	__be16 wqe_counter; /* 3c */
	uint8_t signature;
	uint8_t op_own; /* 3f */
};

struct flexio_dev_eqe {
	uint8_t rsvd00;
	uint8_t type; /* 01 */
	uint8_t rsvd02;
	uint8_t sub_type;
	__be32 rsvd4[13];
	__be32 cqn; /* 38 */
	__be16 rsvd3c;
	uint8_t signature;
	uint8_t owner; /* 3f */
};

struct flexio_dev_wqe_ctrl_seg {
	__be32 idx_opcode;
	__be32 qpn_ds;
	__be32 signature_fm_ce_se;
	__be32 general_id;
};

struct flexio_dev_wqe_eth_seg {
	__be32 rsvd0;
	__be16 cs_swp_flags;
	__be16 mss;
	__be32 rsvd2;
	__be16 inline_hdr_bsz;
	uint8_t inline_hdrs[2];
};

struct flexio_dev_wqe_mem_ptr_send_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

struct flexio_dev_wqe_inline_send_data_seg {
	__be32 byte_count;
	__be32 data_and_padding[3];
};

struct flexio_dev_wqe_inline_data_seg {
	uint8_t inline_data[16];
};

struct flexio_dev_wqe_rdma_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 rsvd;
};

struct flexio_dev_wqe_atomic_seg {
	__be64 swap_or_add_data;
	__be64 compare_data;
};

struct flexio_dev_wqe_shared_receive_seg {
	uint8_t rsvd0[2];
	__be16 next_wqe_index;
	uint8_t signature;
	uint8_t rsvd5[11];
};

struct flexio_dev_wqe_rcv_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

union flexio_dev_sqe_seg {
	struct flexio_dev_wqe_ctrl_seg ctrl;
	struct flexio_dev_wqe_eth_seg eth;
	struct flexio_dev_wqe_mem_ptr_send_data_seg mem_ptr_send_data;
	struct flexio_dev_wqe_inline_send_data_seg inline_send_data;
	struct flexio_dev_wqe_inline_data_seg inline_data;
	struct flexio_dev_wqe_rdma_seg rdma;
	struct flexio_dev_wqe_atomic_seg atomic;
	struct flexio_dev_wqe_shared_receive_seg shared_receive;
};

_Static_assert(sizeof(struct flexio_dev_cqe64) == 64, "a completion has 64 bytes");
_Static_assert(sizeof(struct flexio_dev_eqe) == 64, "an event has 64 bytes");
_Static_assert(sizeof(union flexio_dev_sqe_seg) == 16, "a segment has 16 bytes");

enum {
	MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR = 0,
	MLX5_CTRL_SEG_CE_CQE_ON_FIRST_CQE_ERROR = 1,
	MLX5_CTRL_SEG_CE_CQE_ALWAYS = 2,
	MLX5_CTRL_SEG_CE_CQE_AND_EQE = 3,
};

typedef enum {
	FLEXIO_CTRL_SEG_SEND_EN = 0,
	FLEXIO_CTRL_SEG_SEND_RC = 1,
	FLEXIO_CTRL_SEG_LDMA = 2,
	FLEXIO_CTRL_SEG_RDMA_WRITE = 3,
	FLEXIO_CTRL_SEG_RDMA_READ = 4,
	FLEXIO_CTRL_SEG_ATOMIC_FETCH_AND_ADD = 5,
	FLEXIO_CTRL_SEG_ATOMIC_COMPARE_AND_SWAP = 6,
	FLEXIO_CTRL_SEG_LSO = 7,
	FLEXIO_CTRL_SEG_NOP = 8,
	FLEXIO_CTRL_SEG_RDMA_WRITE_IMM = 9,
	FLEXIO_CTRL_SEG_TRANSPOSE = 10,
	FLEXIO_CTRL_SEG_SEND_UD = 11,
	FLEXIO_CTRL_SEG_SEND_IMM_RC = 12,
} flexio_ctrl_seg_t;

/* Names of later versions. */
#define FLEXIO_CTRL_SEG_CE_CQE_ON_CQE_ERROR MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR
#define FLEXIO_CTRL_SEG_CE_CQE_ON_FIRST_CQE_ERROR MLX5_CTRL_SEG_CE_CQE_ON_FIRST_CQE_ERROR
#define FLEXIO_CTRL_SEG_CE_CQE_ALWAYS MLX5_CTRL_SEG_CE_CQE_ALWAYS
#define FLEXIO_CTRL_SEG_CE_CQE_AND_EQE MLX5_CTRL_SEG_CE_CQE_AND_EQE
#define FLEXIO_CTRL_SEG_TYPE_SEND_EN FLEXIO_CTRL_SEG_SEND_EN
#define FLEXIO_CTRL_SEG_TYPE_SEND_RC FLEXIO_CTRL_SEG_SEND_RC
#define FLEXIO_CTRL_SEG_TYPE_RDMA_WRITE FLEXIO_CTRL_SEG_RDMA_WRITE
#define FLEXIO_CTRL_SEG_TYPE_RDMA_READ FLEXIO_CTRL_SEG_RDMA_READ
#define FLEXIO_CTRL_SEG_TYPE_RDMA_WRITE_IMM FLEXIO_CTRL_SEG_RDMA_WRITE_IMM
#define FLEXIO_CTRL_SEG_TYPE_ATOMIC_FETCH_AND_ADD FLEXIO_CTRL_SEG_ATOMIC_FETCH_AND_ADD
#define FLEXIO_CTRL_SEG_TYPE_ATOMIC_COMPARE_AND_SWAP FLEXIO_CTRL_SEG_ATOMIC_COMPARE_AND_SWAP
#define FLEXIO_CTRL_SEG_TYPE_NOP FLEXIO_CTRL_SEG_NOP
