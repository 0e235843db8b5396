/* Pairs of queues. */
static void pair_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct flexio_process *process, *peer;
	uint64_t ring, queue, record, peer_ring, peer_queue, peer_record, qpn, peer_qpn, sends,
		third_record, third_qpn;
	struct flexio_cq *cq, *peer_cq;
	struct flexio_qp *qp, *peer_qp, *third_qp;
	struct flexio_qp_attr to_rtr, to_rts, to_init, to_error, to_reset, back_to_qp;
	uint8_t *memory;
	struct ibv_mr *region;
	struct flexio_mkey *peer_key, *key;
	struct flexio_sq *sq;

	/* Pairs of queues: what makes one, and its states. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	IS(flexio_process_create(context, calls, NULL, &peer), 0);
	ring = filled(process, 2048, 0xff);
	queue = filled(process, 320, 0);
	record = filled(process, 8, 0);
	peer_ring = filled(peer, 1024, 0xff);
	peer_queue = filled(peer, 320, 0);
	peer_record = filled(peer, 16, 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 5,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	IS(flexio_cq_create(peer, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 4,
		.element_type = 8, .cq_ring_qmem.daddr = peer_ring, .cq_dbr_daddr = peer_record },
		&peer_cq), 0);
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .transport_type = 2 }, &qp),
		1, "dpa: flexio_qp_create: transport 2: only RC is emulated");
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .log_sq_depth = 16 }, &qp),
		1, "dpa: flexio_qp_create: a depth of 2^16, at most 2^15");
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .log_rq_depth = 16 }, &qp),
		1, "dpa: flexio_qp_create: a depth of 2^16, at most 2^15");
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .rq_type = 1 }, &qp), 1,
		"dpa: flexio_qp_create: receive queue of type 1 is not emulated");
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .rq_type = 3,
		.log_sq_depth = 3, .sq_cqn = 0x400, .qp_wq_buff_qmem.daddr = queue }, &qp), 1,
		"dpa: flexio_qp_create: 0x200000000880: 512 bytes are not in one block");
	SAYS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .rq_type = 3,
		.log_sq_depth = 2, .sq_cqn = 0x402, .qp_wq_buff_qmem.daddr = queue }, &qp), 1,
		"dpa: flexio_qp_create: no completion queue 0x402");
	IS(flexio_qp_create(process, NULL, &(struct flexio_qp_attr){ .rq_type = 3,
		.log_sq_depth = 2, .sq_cqn = 0x400, .user_index = 7,
		.qp_wq_buff_qmem.daddr = queue }, &qp), 0);
	IS(flexio_qp_create(peer, NULL, &(struct flexio_qp_attr){ .log_rq_depth = 2,
		.log_sq_depth = 2, .rq_cqn = 0x401, .sq_cqn = 0x401, .qp_access_mask = 10,
		.user_index = 9, .qp_wq_buff_qmem.daddr = peer_queue,
		.qp_wq_dbr_qmem.daddr = peer_record + 8 }, &peer_qp), 0);
	qpn = flexio_qp_get_qp_num(qp);
	peer_qpn = flexio_qp_get_qp_num(peer_qp);
	IS(peer_qpn, 257);
	to_rtr = (struct flexio_qp_attr){ .next_state = 2, .remote_qp_num = peer_qpn };
	to_rts = (struct flexio_qp_attr){ .next_state = 3 };
	to_init = (struct flexio_qp_attr){ .next_state = 1 };
	to_error = (struct flexio_qp_attr){ .next_state = 6 };
	to_reset = (struct flexio_qp_attr){ 0 };
	SAYS(flexio_qp_modify(qp, &to_rtr, NULL), 1, "dpa: flexio_qp_modify: from state 0 to 2");
	SAYS(flexio_qp_modify(qp, &to_rts, NULL), 1, "dpa: flexio_qp_modify: from state 0 to 3");
	IS(flexio_qp_modify(qp, &to_init, NULL), 0);
	SAYS(flexio_qp_modify(qp, &to_init, NULL), 1, "dpa: flexio_qp_modify: from state 1 to 1");
	SAYS(flexio_qp_modify(qp, &to_rts, NULL), 1, "dpa: flexio_qp_modify: from state 1 to 3");
	IS(flexio_qp_modify(qp, &to_rtr, NULL), 0);
	SAYS(flexio_qp_modify(qp, &to_rtr, NULL), 1, "dpa: flexio_qp_modify: from state 2 to 2");
	IS(flexio_qp_state_get(qp), 2);
	IS(flexio_qp_modify(qp, &to_rts, NULL), 0);
	SAYS(flexio_qp_modify(qp, &to_rts, NULL), 1, "dpa: flexio_qp_modify: from state 3 to 3");
	IS(flexio_qp_modify(qp, &to_error, NULL), 0);
	SAYS(flexio_qp_modify(qp, &to_init, NULL), 1, "dpa: flexio_qp_modify: from state 6 to 1");
	IS(flexio_qp_state_get(qp), 6);
	SAYS(flexio_qp_modify(qp, NULL, NULL), 1, "dpa: flexio_qp_modify: no attributes");
	SAYS(flexio_qp_modify((void *)cq, &to_init, NULL), 1,
		"dpa: flexio_qp_modify: Wq: 0xd9a040000000400 is no such object");
	memory = calloc(1, 4096);
	memcpy(memory, "abcdefghijklmnopqrstuvwxyz0123456789", 36);
	region = ibv_reg_mr(domain, memory, 4096, 15);
	BYTES((uint8_t *)region + 36, "25100000");
	region = ibv_reg_mr(domain, memory + 64, 8, 0);
	BYTES((uint8_t *)region + 36, "4a110000");
	region = ibv_reg_mr(domain, memory, 8, 7);
	BYTES((uint8_t *)region + 36, "6f120000");

	/* An entry of a pair that is not ready to send; of one whose peer is not ready, or has
	 * another peer. */
	IS(flexio_qp_modify(qp, &to_reset, NULL), 0);
	POKE(queue, 10, 4, qpn, 3, 1, 1, 0, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 0 (ring), activation 1: send queue 0x100, entry 0: QP "
			"0x100 is in state 0");
	COMPLETION(ring, "00000007 00000000 00000000 00000000 00000000 00000002 0a000100 000000d0");
	IS(flexio_qp_state_get(qp), 6);
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 1 (ring), activation 1: send queue 0x100, entry 0: QP "
			"0x101 does not answer");
	COMPLETION(ring + 64,
		"00000007 00000000 00000000 00000000 00000000 00000015 0a000100 000000d0");
	back_to_qp = (struct flexio_qp_attr){ .next_state = 2, .remote_qp_num = qpn };
	IS(flexio_qp_modify(peer_qp, &to_init, NULL), 0);
	IS(flexio_qp_modify(peer_qp, &(struct flexio_qp_attr){ .next_state = 2,
		.remote_qp_num = peer_qpn }, NULL), 0);
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 2 (ring), activation 1: send queue 0x100, entry 0: QP "
			"0x101 does not answer");
	COMPLETION(ring + 128,
		"00000007 00000000 00000000 00000000 00000000 00000015 0a000100 000000d0");
	IS(flexio_qp_modify(peer_qp, &to_reset, NULL), 0);
	IS(flexio_qp_modify(peer_qp, &to_init, NULL), 0);
	IS(flexio_qp_modify(peer_qp, &back_to_qp, NULL), 0);
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);

	/* Messages: one waits for a buffer, one with an immediate word, one written with such a
	 * word. */
	POKE(queue, 10, 4, qpn, 3, 2, 1, 0, 3, 8, 1, 0, 4, 5, 4, 0x1025, 4, (uint64_t)(memory + 1),
		8);
	POKE(queue + 64, 0, 1, 1, 2, 0x0b, 1, qpn, 3, 2, 1, 0, 4, 0x01020304, 4, 3, 4, 0x1025, 4,
		(uint64_t)(memory + 7), 8);
	POKE(queue + 128, 0, 1, 2, 2, 0x09, 1, qpn, 3, 3, 1, 0, 4, 0x05060708, 4,
		(uint64_t)(memory + 40), 8, 0x1025, 4, 0, 4, 2, 4, 0x1025, 4,
		(uint64_t)(memory + 11), 8);
	POKE(queue + 192, 0, 1, 3, 2, 0x08, 1, qpn, 3, 3, 1, 0, 3, 8, 1, 0, 4,
		(uint64_t)(memory + 50), 8, 0x1025, 4, 0, 4, 0x80000004, 4, 0x2a2b2c2d, 4, 0, 8);
	IS(CALL(process, ring, 4, qpn), 0);
	usleep(20000);
	BYTES(ring + 192, "ffffffff");
	POKE(peer_queue, 8, 4, 0x1025, 4, (uint64_t)(memory + 100), 8, 8, 4, 0x1025, 4,
		(uint64_t)(memory + 110), 8);
	POKE(peer_record + 8, 1, 4);
	COMPLETION(ring + 192,
		"00000007 00000000 00000000 00000000 00000000 00000000 0a000100 00000000");
	COMPLETION(peer_ring,
		"00000009 00000000 00000000 00000005 00000000 00000000 00000101 00000020");
	BYTES(peer_ring + 64, "ffffffff");
	POKE(peer_record + 8, 2, 4);
	COMPLETION(peer_ring + 64,
		"00000009 01020304 00000000 00000003 00000000 00000000 00000101 00010030");
	BYTES(memory + 40, "00000000");
	POKE(peer_record + 8, 3, 4);
	COMPLETION(peer_ring + 128,
		"00000009 05060708 00000000 00000002 00000000 00000000 00000101 00020010");
	COMPLETION(ring + 256,
		"00000007 00000000 00000000 00000000 00000000 00000000 08000100 00030000");
	BYTES(memory + 40, "6c6d0000 00000000 00002a2b 2c2d0000");
	BYTES(memory + 100, "62636465 66000000 00006869 6a000000");

	/* The peer allows no READ. Another one allows all, and receives with its own memory for
	 * sends. */
	POKE(queue, 0, 1, 4, 2, 0x10, 1, qpn, 3, 3, 1, 0, 3, 8, 1, 0, 4, (uint64_t)(memory + 20), 8,
		0x1025, 4, 0, 4, 6, 4, 0x1025, 4, (uint64_t)(memory + 120), 8);
	SAYS(CALL(process, ring, 5, qpn), 0,
		"dpa: process 1, thread 4 (ring), activation 1: send queue 0x100, entry 4: QP "
			"0x101 does not allow it");
	COMPLETION(ring + 320,
		"00000007 00000000 00000000 00000000 00000000 00000013 10000100 000400d0");
	IS(flexio_qp_state_get(qp), 6);
	sends = filled(peer, 64, 0);
	third_record = filled(peer, 8, 0);
	IS(flexio_qp_create(peer, NULL, &(struct flexio_qp_attr){ .log_rq_depth = 2,
		.rq_cqn = 0x401, .sq_cqn = 0x401, .qp_access_mask = 14,
		.qp_wq_buff_qmem.daddr = peer_queue, .qp_wq_dbr_qmem.daddr = third_record,
		.qp_sq_buff_qmem.daddr = sends }, &third_qp), 0);
	third_qpn = flexio_qp_get_qp_num(third_qp);
	IS(flexio_qp_modify(third_qp, &to_init, NULL), 0);
	IS(flexio_qp_modify(third_qp, &back_to_qp, NULL), 0);
	IS(flexio_qp_modify(third_qp, &to_rts, NULL), 0);
	to_rtr = (struct flexio_qp_attr){ .next_state = 2, .remote_qp_num = third_qpn };
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);

	/* READs wait for some turns, and land in two places. Words are compared and swapped, twice,
	 * and added to. */
	POKE(memory + 200, 0x0102030405060708, 8);
	POKE(queue, 0x10, 4, qpn, 3, 4, 1, 0, 3, 8, 1, 0, 4, (uint64_t)(memory + 20), 8, 0x1025, 4,
		0, 4, 6, 4, 0x1025, 4, (uint64_t)(memory + 120), 8, 3, 4, 0x1025, 4,
		(uint64_t)(memory + 130), 8);
	POKE(queue + 64, 0, 1, 1, 2, 0x11, 1, qpn, 3, 4, 1, 0, 3, 8, 1, 0, 4,
		(uint64_t)(memory + 200), 8, 0x1025, 4, 0, 4, 0x1112131415161718, 8,
		0x0807060504030201, 8, 8, 4, 0x1025, 4, (uint64_t)(memory + 208), 8);
	POKE(queue + 128, 0, 1, 2, 2, 0x11, 1, qpn, 3, 4, 1, 0, 8, (uint64_t)(memory + 200), 8,
		0x1025, 4, 0, 4, 0x21, 8, 0x22, 8, 8, 4, 0x1025, 4, (uint64_t)(memory + 216), 8);
	POKE(queue + 192, 0, 1, 3, 2, 0x12, 1, qpn, 3, 4, 1, 0, 3, 8, 1, 0, 4,
		(uint64_t)(memory + 200), 8, 0x1025, 4, 0, 4, 0x0100000000000001, 8, 0, 8, 8, 4,
		0x1025, 4, (uint64_t)(memory + 224), 8);
	IS(CALL(process, ring, 4, qpn), 0);
	COMPLETION(ring + 384,
		"00000007 00000000 00000000 00000000 00000000 00000000 10000100 00000000");
	COMPLETION(ring + 448,
		"00000007 00000000 00000000 00000000 00000000 00000000 11000100 00010000");
	COMPLETION(ring + 512,
		"00000007 00000000 00000000 00000000 00000000 00000000 12000100 00030000");
	BYTES(memory + 116, "00000000 75767778 797a0000 00003031 32000000");
	BYTES(memory + 200,
		"19171615 14131212 01020304 05060708 18171615 14131211 18171615 14131211");

	/* What is wrong with an entry, for the key at this end, the peer's key, or the peer. */
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 10, 4, qpn, 3, 2, 1, 0, 8, 9, 4, 0x126f, 4, (uint64_t)memory, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 6 (ring), activation 1: send queue 0x100, entry 0: key "
			"0x126f covers 8 bytes at ... not 9 at ...");
	COMPLETION(ring + 576,
		"00000007 00000000 00000000 00000000 00000000 00000004 0a000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 8, 4, qpn, 3, 1, 1, 0, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 7 (ring), activation 1: send queue 0x100, entry 0: 1 "
			"segments for opcode 0x8");
	COMPLETION(ring + 640,
		"00000007 00000000 00000000 00000000 00000000 00000002 08000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 8, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)(memory + 64), 8, 0x114a, 4, 0, 4, 1, 4,
		0x1025, 4, (uint64_t)memory, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 8 (ring), activation 1: send queue 0x100, entry 0: key "
			"0x114a does not allow remote write");
	COMPLETION(ring + 704,
		"00000007 00000000 00000000 00000000 00000000 00000013 08000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 8, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)(memory + 4095), 8, 0x1025, 4, 0, 4, 2, 4,
		0x1025, 4, (uint64_t)memory, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 9 (ring), activation 1: send queue 0x100, entry 0: key "
			"0x1025 covers 4096 bytes at ... not 2 at ...");
	COMPLETION(ring + 768,
		"00000007 00000000 00000000 00000000 00000000 00000013 08000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x10, 4, qpn, 3, 2, 1, 0, 8, (uint64_t)memory, 8, 0x1025, 4, 0, 4);
	CALL(process, ring, 1, qpn);
	COMPLETION(ring + 832,
		"00000007 00000000 00000000 00000000 00000000 00000002 10000100 000000d0");
	SAID("dpa: send queue 0x100, entry 0: 2 segments for opcode 0x10");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x10, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)(memory + 64), 8, 0x114a, 4, 0, 4, 1, 4,
		0x1025, 4, (uint64_t)memory, 8);
	CALL(process, ring, 1, qpn);
	COMPLETION(ring + 896,
		"00000007 00000000 00000000 00000000 00000000 00000013 10000100 000000d0");
	SAID("dpa: send queue 0x100, entry 0: key 0x114a does not allow remote read");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x10, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)memory, 8, 0x1025, 4, 0, 4, 1, 4, 0x114a,
		4, (uint64_t)(memory + 64), 8);
	CALL(process, ring, 1, qpn);
	COMPLETION(ring + 960,
		"00000007 00000000 00000000 00000000 00000000 00000004 10000100 000000d0");
	SAID("dpa: send queue 0x100, entry 0: key 0x114a does not allow local write");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x10, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)memory, 8, 0x1025, 4, 0, 4, 0x40000000,
		4, 0x1025, 4, (uint64_t)memory, 8);
	CALL(process, ring, 1, qpn);
	COMPLETION(ring + 1024,
		"00000007 00000000 00000000 00000000 00000000 00000013 10000100 000000d0");
	SAID("dpa: send queue 0x100, entry 0: key 0x1025 covers 4096 bytes at ... not 1073741824 "
			"at ...");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x10, 4, qpn, 3, 3, 1, 0, 8, (uint64_t)memory, 8, 0x1025, 4, 0, 4, 0x40000001,
		4, 0x1025, 4, (uint64_t)memory, 8);
	CALL(process, ring, 1, qpn);
	COMPLETION(ring + 1088,
		"00000007 00000000 00000000 00000000 00000000 00000002 10000100 000000d0");
	SAID("dpa: send queue 0x100, entry 0: a read of 1073741825 bytes");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x11, 4, qpn, 3, 3, 1, 0, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 15 (ring), activation 1: send queue 0x100, entry 0: 3 "
			"segments for opcode 0x11");
	COMPLETION(ring + 1152,
		"00000007 00000000 00000000 00000000 00000000 00000002 11000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x11, 4, qpn, 3, 4, 1, 0, 8, (uint64_t)memory, 8, 0x126f, 4, 0, 20, 8, 4,
		0x1025, 4, (uint64_t)(memory + 208), 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 16 (ring), activation 1: send queue 0x100, entry 0: key "
			"0x126f does not allow remote atomics");
	COMPLETION(ring + 1216,
		"00000007 00000000 00000000 00000000 00000000 00000013 11000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x12, 4, qpn, 3, 4, 1, 0, 8, (uint64_t)(memory + 4), 8, 0x1025, 4, 0, 20, 8, 4,
		0x1025, 4, (uint64_t)(memory + 208), 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 17 (ring), activation 1: send queue 0x100, entry 0: an "
			"atomic at ... which is not aligned to 8");
	COMPLETION(ring + 1280,
		"00000007 00000000 00000000 00000000 00000000 00000013 12000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 0x12, 4, qpn, 3, 4, 1, 0, 8, (uint64_t)(memory + 200), 8, 0x1025, 4, 0, 20, 8,
		4, 0x114a, 4, (uint64_t)(memory + 64), 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 18 (ring), activation 1: send queue 0x100, entry 0: key "
			"0x114a does not allow local write");
	COMPLETION(ring + 1344,
		"00000007 00000000 00000000 00000000 00000000 00000004 12000100 000000d0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 14, 4, qpn, 3, 1, 1, 0, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 19 (ring), activation 1: send queue 0x100, entry 0: opcode "
			"0xe is not emulated");
	COMPLETION(ring + 1408,
		"00000007 00000000 00000000 00000000 00000000 00000002 0e000100 000000d0");

	/* Nothing is written of no bytes. A buffer is too short for a message. A pair receives
	 * nothing. */
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(queue, 8, 4, qpn, 3, 2, 1, 0, 3, 8, 1, 0, 4, 0, 16);
	POKE(queue + 64, 0, 1, 1, 2, 10, 1, qpn, 3, 2, 1, 0, 8, 17, 4, 0x1025, 4, (uint64_t)memory,
		8);
	IS(CALL(process, ring, 1, qpn), 0);
	COMPLETION(ring + 1472,
		"00000007 00000000 00000000 00000000 00000000 00000000 08000100 00000000");
	POKE(third_record, 1, 4);
	SAYS(CALL(process, ring, 2, qpn), 0,
		"dpa: process 1, thread 21 (ring), activation 1: send queue 0x100, entry 1: a "
			"message of 17 bytes for a buffer of 8");
	COMPLETION(ring + 1536,
		"00000007 00000000 00000000 00000000 00000000 00000014 0a000100 000100d0");
	COMPLETION(peer_ring + 192,
		"00000000 00000000 00000000 00000000 00000000 00000004 00000102 000000e0");
	CONNECT(qp, &to_reset, &to_init, &to_rtr, &to_rts);
	POKE(sends, 10, 4, third_qpn, 3, 2, 1, 0, 8, 1, 4, 0x1025, 4, (uint64_t)memory, 8);
	SAYS(CALL(peer, ring, 1, third_qpn), 0,
		"dpa: process 2, thread 22 (ring), activation 1: send queue 0x102, entry 0: the "
			"peer receives nothing");
	COMPLETION(peer_ring + 256,
		"00000000 00000000 00000000 00000000 00000000 00000014 0a000102 000000d0");
	IS(flexio_qp_state_get(third_qp), 6);
	IS(flexio_qp_destroy(third_qp), 0);
	POKE(queue, 10, 4, qpn, 3, 2, 1, 0, 8, 1, 4, 0x1025, 4, (uint64_t)memory, 8);
	SAYS(CALL(process, ring, 1, qpn), 0,
		"dpa: process 1, thread 23 (ring), activation 1: send queue 0x100, entry 0: QP "
			"0x102 does not answer");
	COMPLETION(ring + 1600,
		"00000007 00000000 00000000 00000000 00000000 00000015 0a000100 000000d0");

	/* What belongs to a process ends with it, and nothing else. */
	IS(flexio_device_mkey_create(peer, &(struct flexio_mkey_attr){ .pd = domain,
		.daddr = peer_ring, .len = 8 }, &peer_key), 0);
	IS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .pd = domain,
		.daddr = ring, .len = 8 }, &key), 0);
	IS(flexio_sq_create(peer, NULL, 0x401,
		&(struct flexio_wq_attr){ .wq_ring_qmem.daddr = sends }, &sq), 0);
	IS(flexio_process_destroy(peer), 0);
	SAYS(flexio_sq_destroy(sq), 1, "dpa: flexio_sq_destroy: Wq: it does not exist any more");
	SAYS(flexio_qp_destroy(peer_qp), 1,
		"dpa: flexio_qp_destroy: Wq: it does not exist any more");
	SAYS(flexio_qp_state_get(peer_qp), 0,
		"dpa: flexio_qp_state_get: Wq: it does not exist any more");
	SAYS(flexio_cq_destroy(peer_cq), 1,
		"dpa: flexio_cq_destroy: Cq: it does not exist any more");
	SAYS(flexio_device_mkey_destroy(peer_key), 1,
		"dpa: flexio_device_mkey_destroy: Mkey: it does not exist any more");
	IS(flexio_device_mkey_destroy(key), 0);
	IS(CALL(process, digits, 1), 0x10000000000);
	SAYS(flexio_cq_destroy(cq), 1, "dpa: flexio_cq_destroy: work queues complete here");
	IS(flexio_qp_destroy(qp), 0);
	IS(flexio_cq_destroy(cq), 0);
	IS(flexio_process_destroy(process), 0);
	SAID("");
}
