/* Frames leave a send queue and come back. */
static void frame_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct flexio_process *process;
	uint64_t ring, sent, sends, receives, record, cqn, sent_cqn, sqn, data, buffer, key, into,
		state;
	struct flexio_cq *cq, *sent_cq;
	struct flexio_sq *sq;
	struct flexio_rq *rq;
	struct flexio_mkey *mkey;
	uint8_t *match, *actions, *memory;
	struct mlx5dv_dr_domain *rx;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_devx_obj *tir;
	struct mlx5dv_dr_action *action;
	struct mlx5dv_dr_rule *rule;
	struct flexio_wq_attr wq_attr;
	struct ibv_mr *region;
	flexio_func_t *handle;
	struct flexio_event_handler *handler;
	struct flexio_thread *thread;

	/* Frames leave a send queue and come back. Both queues have four entries, the receive
	 * queue's with two segments. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	ring = filled(process, 1024, 0xff);
	sent = filled(process, 256, 0xff);
	sends = filled(process, 256, 0);
	receives = filled(process, 128, 0);
	record = filled(process, 32, 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 4,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cq_ring_qmem.daddr = sent, .cq_dbr_daddr = record + 8,
		.overrun_ignore = 1 }, &sent_cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	sent_cqn = flexio_cq_get_cq_num(sent_cq);
	IS(flexio_sq_create(process, NULL, sent_cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.user_index = 0x1234567, .wq_ring_qmem.daddr = sends }, &sq), 0);
	IS(flexio_rq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.log_wq_stride = 5, .user_index = 0x89abcd, .wq_ring_qmem.daddr = receives,
		.wq_dbr_qmem.daddr = record + 16 }, &rq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	IS(flexio_buf_dev_alloc(process, 200, &data), 0);
	IS(flexio_host2dev_memcpy(process,
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
		88, data), 0);
	buffer = filled(process, 256, 0x2e);
	IS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .pd = domain,
		.daddr = data, .len = 88 }, &mkey), 0);
	key = flexio_mkey_get_id(mkey);
	IS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .pd = domain,
		.daddr = buffer, .len = 256, .access = 1 }, &mkey), 0);
	into = flexio_mkey_get_id(mkey);

	/* Buffers: 20 + 30, 8 + 9, 60 and an end, 24 + 1. */
	POKE(receives, 20, 4, into, 4, buffer, 8, 30, 4, into, 4, buffer + 32, 8);
	POKE(receives + 32, 8, 4, into, 4, buffer + 64, 8, 9, 4, into, 4, buffer + 80, 8);
	POKE(receives + 64, 60, 4, into, 4, buffer + 96, 8, 0, 4, 0x100, 4, 0, 8);
	POKE(receives + 96, 24, 4, into, 4, buffer + 160, 8, 1, 4, into, 4, buffer + 192, 8);
	POKE(record + 16, 4, 4);
	match = calloc(1, 72);
	POKE(match, 64, 1);
	rx = mlx5dv_dr_domain_create(context, 0);
	table = mlx5dv_dr_table_create(rx, 0);
	matcher = mlx5dv_dr_matcher_create(table, 0, 1, (void *)match);
	tir = flexio_rq_get_tir(rq);
	action = mlx5dv_dr_action_create_dest_devx_tir(tir);
	actions = calloc(1, 16);
	memcpy(actions, &action, 8);
	rule = mlx5dv_dr_rule_create(matcher, (void *)match, 1, (void *)actions);
	SAYS(flexio_rq_destroy(rq), 1, "dpa: flexio_rq_destroy: steering rules lead here");

	/* Entry 0: 40 bytes of memory. Entry 1: a header of two bytes, then 9 and 6 bytes of memory,
	 * and a completion. Entries 2 and 3: one of two units, a header of 18 bytes, 5 bytes inline,
	 * then memory. */
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 12, 0, 4, 40, 4, key, 4, data, 8);
	POKE(sends + 64, 0, 1, 1, 2, 10, 1, sqn, 3, 4, 1, 0, 3, 8, 1, 0, 4, 0, 12, 2, 2, 0x4849, 2,
		9, 4, key, 4, data + 4, 8, 6, 4, key, 4, data + 52, 8);
	IS(CALL(process, ring, 2, sqn), 0);
	COMPLETION(ring, "0089abcd 00000000 00000000 00000028 00000000 00000000 00000101 00000020");
	COMPLETION(ring + 64,
		"0089abcd 00000000 00000000 00000011 00000000 00000000 00000101 00010020");
	COMPLETION(sent, "00234567 00000000 00000000 00000000 00000000 00000000 0a000100 00010000");
	BYTES(sent + 64, "ffffffff");
	BYTES(buffer,
		"61626364 65666768 696a6b6c 6d6e6f70 71727374 2e2e2e2e 2e2e2e2e 2e2e2e2e 75767778 "
			"797a3031 32333435 36373839 41424344 2e2e2e2e 2e2e2e2e 2e2e2e2e 48496566 "
			"6768696a 2e2e2e2e 2e2e2e2e 6b6c6d51 52535455 562e2e2e 2e2e2e2e");
	BYTES(record + 16, "00000004");
	POKE(sends + 128, 0, 1, 2, 2, 10, 1, sqn, 3, 5, 1, 0, 3, 8, 1, 0, 4, 0, 12, 18, 2,
		0x30313233, 4, 0x34353637, 4, 0x38394142, 4, 0x43444546, 4, 0x4748, 2, 0x80000005,
		4, 0x71727374, 4, 0x75, 1, 0, 7, 7, 4, key, 4, data + 81, 8);
	IS(CALL(process, ring, 4, sqn), 0);
	COMPLETION(ring + 128,
		"0089abcd 00000000 00000000 0000001e 00000000 00000000 00000101 00020020");
	COMPLETION(sent + 64,
		"00234567 00000000 00000000 00000000 00000000 00000000 0a000100 00020000");
	BYTES(buffer + 96,
		"30313233 34353637 38394142 43444546 47487172 73747574 75767778 797a2e2e");

	/* Around the ring's end: units 3 and 0. Indexes are those of the first pass, as programs
	 * write them. */
	POKE(sends, 0, 4, sqn, 3, 1, 1, 0, 8, 0, 48);
	POKE(sends + 64, 0, 1, 1, 2, 0, 1, sqn, 3, 1, 1, 0, 8, 0, 48);
	POKE(sends + 128, 0, 1, 2, 2, 0, 1, sqn, 3, 1, 1, 0, 8, 0, 48);
	IS(CALL(process, ring, 7, sqn), 0);
	POKE(sends + 192, 0, 1, 3, 2, 10, 1, sqn, 3, 7, 1, 0, 3, 12, 1, 0, 4, 0, 12, 2, 2, 0x5152,
		2, 2, 4, key, 4, data, 8, 3, 4, key, 4, data + 10, 8);
	POKE(sends, 4, 4, key, 4, data + 20, 8, 5, 4, key, 4, data + 30, 8, 6, 4, key, 4, data + 40,
		8, 0, 16);
	IS(CALL(process, ring, 9, sqn), 0);
	COMPLETION(ring + 192,
		"0089abcd 00000000 00000000 00000016 00000000 00000000 00000101 00030020");
	COMPLETION(sent + 128,
		"00234567 00000000 00000000 00000000 00000000 00000000 0a000100 00070000");
	BYTES(buffer + 160,
		"51526162 6b6c6d75 76777834 35363738 45464748 494a2e2e 2e2e2e2e 2e2e2e2e 2e2e2e2e");

	/* A doorbell: up to the depth, and no further. */
	POKE(sends, 0, 1, 0, 2, 0, 1, sqn, 3, 1, 1, 0, 8, 0, 48);
	POKE(sends + 64, 0, 1, 1, 2, 0, 1, sqn, 3, 1, 1, 0, 8, 0, 48);
	POKE(sends + 192, 0, 1, 3, 2, 0, 1, sqn, 3, 1, 1, 0, 8, 0, 48);
	SAYS(CALL(process, ring, 14, sqn), 0,
		"dpa: process 1, thread 4 (ring), activation 1: send queue 0x100: doorbell 14 is "
			"more than its depth past 9");
	POKE(sends, 0, 1, 0, 2, 0, 1, sqn, 3, 1, 1, 0, 3, 8, 1, 0, 4, 0, 48);
	IS(CALL(process, ring, 13, sqn), 0);
	COMPLETION(sent + 192,
		"00234567 00000000 00000000 00000000 00000000 00000000 00000100 000c0000");
	SAYS(CALL(process, ring, 1, 0x101), 0,
		"dpa: process 1, thread 6 (ring), activation 1: no send queue 0x101 to ring");
	SAYS(CALL(process, ring, 1, 0x102), 0,
		"dpa: process 1, thread 7 (ring), activation 1: no send queue 0x102 to ring");

	/* What is wrong with an entry. The queue does nothing more. */
	wq_attr = (struct flexio_wq_attr){ .log_wq_depth = 2, .wq_ring_qmem.daddr = sends };
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 1, 2, 10, 1, sqn, 3, 3, 1, 0, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 8 (ring), activation 1: send queue 0x102, entry 0: its "
			"index is 1");
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8);
	IS(CALL(process, ring, 2, sqn), 0);
	COMPLETION(sent, "00000000 00000000 00000000 00000000 00000000 00000002 0a000102 000000d1");
	BYTES(sent + 64, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 4, 2, 10, 1, sqn + 1, 3, 3, 1, 0, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 10 (ring), activation 1: send queue 0x103, entry 0: it "
			"names queue 0x104");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 0, 1, 0, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 11 (ring), activation 1: send queue 0x104, entry 0: it has "
			"no segment");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 8, 1, sqn, 3, 4, 1, 0, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 12 (ring), activation 1: send queue 0x105, entry 0: opcode "
			"0x8 is not emulated");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 2, 1, 0, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 13 (ring), activation 1: send queue 0x106, entry 0: 2 "
			"segments for an Ethernet frame");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 0x8000000d, 4);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 14 (ring), activation 1: send queue 0x107, entry 0: 13 "
			"bytes inline in its segments");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 89, 4, key, 4, data, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 15 (ring), activation 1: send queue 0x108, entry 0: key "
			"0x1025 covers 88 bytes at 0x200000000840, not 89 at 0x200000000840");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 1, 4, key, 4, data + 88, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 16 (ring), activation 1: send queue 0x109, entry 0: key "
			"0x1025 covers 88 bytes at 0x200000000840, not 1 at 0x200000000898");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 1, 4, key, 4, data - 1, 8);
	SAYS(CALL(process, ring, 1, sqn), 0,
		"dpa: process 1, thread 17 (ring), activation 1: send queue 0x10a, entry 0: key "
			"0x1025 covers 88 bytes at 0x200000000840, not 1 at 0x20000000083f");

	/* The longest frame, and a byte more. A frame without a buffer comes later. */
	memory = calloc(1, 20000);
	memset(memory, 0x61, 20000);
	region = ibv_reg_mr(domain, memory, 20000, 1);
	BYTES((uint8_t *)region + 36, "6f120000");
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 16384, 4, 0x126f, 4,
		(uint64_t)memory, 8);
	IS(CALL(process, ring, 1, sqn), 0);
	BYTES(ring + 256, "ffffffff");
	POKE(receives, 16384, 4, 0x126f, 4, (uint64_t)memory, 8, 0, 4, 0x100, 4, 0, 8);
	POKE(record + 16, 5, 4);
	COMPLETION(ring + 256,
		"0089abcd 00000000 00000000 00004000 00000000 00000000 00000101 00040020");
	POKE(sends + 64, 0, 1, 1, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 16385, 4, 0x126f, 4,
		(uint64_t)memory, 8);
	SAYS(CALL(process, ring, 2, sqn), 0,
		"dpa: process 1, thread 19 (ring), activation 1: send queue 0x10b, entry 1: more "
			"than 16384 bytes");

	/* Buffers that are too short, of a key without rights, and none any more. */
	IS(flexio_sq_create(process, NULL, sent_cqn, &wq_attr, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	IS(flexio_buf_dev_memset(process, 0x2e, 256, buffer), 0);
	POKE(receives + 32, 10, 4, into, 4, buffer, 8, 9, 4, into, 4, buffer + 20, 8);
	POKE(receives + 64, 12, 4, into, 4, buffer + 32, 8, 9, 4, key, 4, data, 8);
	POKE(receives + 96, 12, 4, into, 4, buffer + 64, 8, 9, 4, key, 4, data, 8);
	POKE(record + 16, 8, 4);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 20, 4, key, 4, data, 8);
	POKE(sends + 192, 0, 1, 3, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 19, 4, key, 4, data, 8);
	POKE(sends + 64, 0, 1, 1, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 19, 4, key, 4, data, 8);
	POKE(sends + 128, 0, 1, 2, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 12, 4, key, 4, data, 8);
	CALL(process, ring, 1, sqn);
	COMPLETION(ring + 320,
		"0089abcd 00000000 00000000 00000000 00000000 00000004 00000101 000500e0");
	SAID("dpa: receive queue 0x101: a message of 20 bytes for a buffer of 19");
	BYTES(buffer, "61626364 65666768 696a2e2e 2e2e2e2e 2e2e2e2e 6b6c6d6e 6f707172 732e2e2e");
	CALL(process, ring, 2, sqn);
	COMPLETION(ring + 384,
		"0089abcd 00000000 00000000 00000000 00000000 00000004 00000101 000600e0");
	SAID("dpa: receive queue 0x101: key 0x1025 does not allow local write");
	BYTES(buffer + 32, "61626364 65666768 696a6b6c 2e2e2e2e");
	CALL(process, ring, 3, sqn);
	COMPLETION(ring + 448,
		"0089abcd 00000000 00000000 0000000c 00000000 00000000 00000101 00070020");
	BYTES(buffer + 64, "61626364 65666768 696a6b6c 2e2e2e2e");
	POKE(receives, 10, 4, into, 4, buffer, 8, 9, 4, into, 4, buffer + 20, 8);
	IS(flexio_rq_set_err_state(rq), 0);
	POKE(record + 16, 9, 4);
	CALL(process, ring, 4, sqn);
	usleep(20000);
	BYTES(ring + 512, "ffffffff");
	IS(mlx5dv_dr_rule_destroy(rule), 0);
	IS(flexio_rq_destroy(rq), 0);

	/* A frame without a buffer is reported once its handler waits and has consumed all
	 * completions. */
	IS(flexio_func_register(calls, "handle", &handle), 0);
	state = filled(process, 48, 0);
	IS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle }, &handler), 0);
	IS(flexio_event_handler_run(handler, state), 0);
	thread = flexio_event_handler_get_thread(handler);
	IS(flexio_buf_dev_memset(process, 0xff, 1024, ring), 0);
	IS(flexio_buf_dev_memset(process, 0, 32, record), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 4,
		.thread = thread, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(flexio_rq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.wq_ring_qmem.daddr = receives, .wq_dbr_qmem.daddr = record + 16 }, &rq), 0);
	POKE(receives, 60, 4, into, 4, buffer, 8);
	POKE(record + 16, 1, 4);
	tir = flexio_rq_get_tir(rq);
	action = mlx5dv_dr_action_create_dest_devx_tir(tir);
	mlx5dv_dr_rule_create(matcher, (void *)match, 1, &action);
	IS(flexio_sq_create(process, NULL, sent_cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.wq_ring_qmem.daddr = sends }, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 0, 1, 0, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 20, 4, key, 4, data, 8);
	POKE(sends + 64, 0, 1, 1, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 21, 4, key, 4, data, 8);
	CALL(process, ring, 1, sqn);
	COMPLETION(ring, "00000000 00000000 00000000 00000013 00000000 00000000 0000010d 00000020");
	UNTIL(WORD(state), 1);
	CALL(process, ring, 2, sqn);
	POKE(record, 1, 4);
	usleep(20000);
	POKE(record, 0, 4);
	CALL(process, arm, 1, cqn);
	usleep(20000);
	POKE(record, 1, 4);
	SAID_LATER("dpa: process 1, thread 24 (handle), activation 1: receive queue 0x10d: a frame comes "
			"and no buffer was given back, though the thread waits and has consumed "
			"all completions");
	POKE(receives + 16, 60, 4, into, 4, buffer, 8);
	POKE(record + 16, 2, 4);
	COMPLETION(ring + 64,
		"00000000 00000000 00000000 00000014 00000000 00000000 0000010d 00010020");
	UNTIL(WORD(state), 2);
	IS(flexio_process_destroy(process), 0);
	SAID("");
}
