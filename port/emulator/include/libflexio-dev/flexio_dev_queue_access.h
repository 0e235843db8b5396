/* Reading completions and events, writing send queue entries and doorbell records. */
#pragma once

#include <libflexio-dev/flexio_dev.h>

/* Reads the byte with the owner bit. A thread that polls in vain yields here. */
uint8_t dpa_emulator_poll(const volatile uint8_t *owner);

#define DPA_EMULATOR_READ(field) (*(const volatile __typeof__(field) *)&(field))

/* Completions. */
static inline uint8_t flexio_dev_cqe_get_owner(struct flexio_dev_cqe64 *cqe)
{
	return dpa_emulator_poll(&cqe->op_own) & 1;
}
static inline uint8_t flexio_dev_cqe_get_opcode(struct flexio_dev_cqe64 *cqe)
{
	return DPA_EMULATOR_READ(cqe->op_own) >> 4;
}
static inline uint8_t flexio_dev_cqe_get_type(struct flexio_dev_cqe64 *cqe)
{
	return (DPA_EMULATOR_READ(cqe->op_own) >> 2) & 3;
}
static inline uint32_t flexio_dev_cqe_get_qpn(struct flexio_dev_cqe64 *cqe)
{
	return be32_to_cpu(DPA_EMULATOR_READ(cqe->qpn)) & 0xffffff;
}
static inline uint16_t flexio_dev_cqe_get_wqe_counter(struct flexio_dev_cqe64 *cqe)
{
	return be16_to_cpu(DPA_EMULATOR_READ(cqe->wqe_counter));
}
static inline uint32_t flexio_dev_cqe_get_byte_cnt(struct flexio_dev_cqe64 *cqe)
{
	return be32_to_cpu(DPA_EMULATOR_READ(cqe->byte_cnt));
}
static inline uint32_t flexio_dev_cqe_get_user_index(struct flexio_dev_cqe64 *cqe)
{
	return be32_to_cpu(DPA_EMULATOR_READ(cqe->srqn_uidx)) & 0xffffff;
}
static inline uint8_t flexio_dev_cqe_get_err_synd(struct flexio_dev_cqe64 *cqe)
{
	return DPA_EMULATOR_READ(cqe->syndrome);
}
static inline uint16_t flexio_dev_cqe_get_csum_ok(struct flexio_dev_cqe64 *cqe)
{
	return be16_to_cpu(DPA_EMULATOR_READ(cqe->csum_ok));
}

/* Events. */
static inline uint32_t flexio_dev_eqe_get_cqn(struct flexio_dev_eqe *eqe)
{
	return be32_to_cpu(DPA_EMULATOR_READ(eqe->cqn)) & 0xffffff;
}
static inline uint8_t flexio_dev_eqe_get_owner(struct flexio_dev_eqe *eqe)
{
	return dpa_emulator_poll(&eqe->owner) & 1;
}

/* Receive queue entries. */
static inline void *flexio_dev_rwqe_get_addr(struct flexio_dev_wqe_rcv_data_seg *rwqe)
{
	return (void *)be64_to_cpu(DPA_EMULATOR_READ(rwqe->addr));
}

/* Doorbell records. */
/* ordering: the NIC, which acquires a record, sees the entries that were given back before. */
static inline void flexio_dev_dbr_cq_set_ci(uint32_t *dbr, uint32_t index)
{
	__atomic_store_n(dbr, cpu_to_be32(index & 0xffffff), __ATOMIC_RELEASE);
}
static inline void flexio_dev_dbr_rq_inc_pi(uint32_t *dbr)
{
	uint32_t next = be32_to_cpu(*dbr) + 1;
	__atomic_store_n(dbr, cpu_to_be32(next & 0xffff), __ATOMIC_RELEASE);
}
static inline void flexio_dev_dbr_rq_set_pi(uint32_t *dbr, uint32_t index)
{
	__atomic_store_n(dbr, cpu_to_be32(index & 0xffff), __ATOMIC_RELEASE);
}
static inline void flexio_dev_dbr_sq_set_pi(uint32_t *dbr, uint32_t index)
{
	__atomic_store_n(dbr + 1, cpu_to_be32(index & 0xffff), __ATOMIC_RELEASE);
}

/* Send queue entries. Opcode, number of segments of 16 bytes. */
static inline flexio_dev_status_t
flexio_dev_swqe_seg_ctrl_set(union flexio_dev_sqe_seg *swqe, uint32_t index, uint32_t number,
			     uint32_t completion, flexio_ctrl_seg_t kind)
{
	static const uint8_t opcode[] = { 0x0a, 0x0a, 0x32, 0x08, 0x10, 0x12, 0x11,
					  0x0e, 0x00, 0x09, 0x32, 0x0a, 0x0b };
	static const uint8_t segments[] = { 3, 2, 4, 3, 3, 4, 4, 4, 1, 3, 4, 5, 2 };
	uint32_t modifier = kind == FLEXIO_CTRL_SEG_LDMA ? 1 : 0;

	if ((uint32_t)kind >= sizeof(opcode))
		return FLEXIO_DEV_STATUS_FAILED;
	swqe->ctrl.idx_opcode =
		cpu_to_be32((modifier << 24) | ((index & 0xffff) << 8) | opcode[kind]);
	swqe->ctrl.qpn_ds = cpu_to_be32((number << 8) | segments[kind]);
	swqe->ctrl.signature_fm_ce_se = cpu_to_be32((completion & 3) << 2);
	swqe->ctrl.general_id = 0;
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_eth_set(union flexio_dev_sqe_seg *swqe, uint16_t flags, uint16_t mss,
			    uint16_t inline_bytes, uint8_t inline_header[2])
{
	swqe->eth.rsvd0 = 0;
	swqe->eth.cs_swp_flags = cpu_to_be16(flags);
	swqe->eth.mss = cpu_to_be16(mss);
	swqe->eth.rsvd2 = 0;
	swqe->eth.inline_hdr_bsz = cpu_to_be16(inline_bytes);
	swqe->eth.inline_hdrs[0] = inline_header ? inline_header[0] : 0;
	swqe->eth.inline_hdrs[1] = inline_header ? inline_header[1] : 0;
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_mem_ptr_data_set(union flexio_dev_sqe_seg *swqe, uint32_t bytes, uint32_t lkey,
				     uint64_t address)
{
	swqe->mem_ptr_send_data.byte_count = cpu_to_be32(bytes);
	swqe->mem_ptr_send_data.lkey = cpu_to_be32(lkey);
	swqe->mem_ptr_send_data.addr = cpu_to_be64(address);
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_inline_data_set(union flexio_dev_sqe_seg *swqe, uint32_t bytes, uint32_t *data)
{
	swqe->inline_send_data.byte_count = cpu_to_be32(0x80000000u | bytes);
	__builtin_memcpy((uint8_t *)swqe + 4, data, bytes);
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_rdma_set(union flexio_dev_sqe_seg *swqe, uint32_t rkey, uint64_t address)
{
	swqe->rdma.raddr = cpu_to_be64(address);
	swqe->rdma.rkey = cpu_to_be32(rkey);
	swqe->rdma.rsvd = 0;
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_atomic_set(union flexio_dev_sqe_seg *swqe, uint64_t swap_or_add,
			       uint64_t compare)
{
	swqe->atomic.swap_or_add_data = cpu_to_be64(swap_or_add);
	swqe->atomic.compare_data = cpu_to_be64(compare);
	return FLEXIO_DEV_STATUS_SUCCESS;
}
static inline flexio_dev_status_t
flexio_dev_swqe_seg_shared_receive_set(union flexio_dev_sqe_seg *swqe, uint16_t next,
				       uint8_t signature)
{
	swqe->shared_receive.next_wqe_index = cpu_to_be16(next);
	swqe->shared_receive.signature = signature;
	return FLEXIO_DEV_STATUS_SUCCESS;
}
