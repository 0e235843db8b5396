//! Files that the calls read, by name.

pub(super) const INPUTS: [(&str, &str); 49] = [
    (
        "two-phases",
        "phase,src,dst,bytes,tag\na,0,16,8,1\na,0,16,8,2\na,1,16,8,3\na,0,1,8,4\nb,16,0,100,1\n",
    ),
    (
        "symmetric",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 6\n1 1 4\n2 2 4\n3 3 4\n4 4 4\n2 1 -1\n4 1 -1\n",
    ),
    (
        "one-column",
        "%%MatrixMarket matrix coordinate real general\n4 4 2\n3 1 1\n4 2 1\n",
    ),
    (
        "mixed-phases",
        "phase,src,dst,bytes,tag\nlast,33,2,70000,9\nlast,2,33,5,1\nfirst,17,0,9000,4\nfirst,40,0,600,4\nfirst,1,0,20,3\nfirst,9,0,8,2\nlast,7,33,300,8\nfirst,0,17,513,7\n",
    ),
    (
        "far-runs",
        "seconds,messages,bytes,ppn,place,steps,order,link_bytes\n0.000138,50,400,1,network,1275,worst,0\n0.0001191,50,400,1,network,50,best,0\n0.0003374,100,30000,1,network,5050,worst,0\n0.0002609,100,30000,1,network,100,best,0\n0.0007695,200,1600,1,network,20100,worst,3200\n0.0004827,200,1600,1,network,200,best,3200\n0.001511,300,90000,1,network,45150,worst,180000\n0.0008233,300,90000,1,network,300,best,180000\n0.0001409,50,400,2,network,1275,worst,0\n0.0001197,50,400,2,network,50,best,0\n0.0003393,100,30000,2,network,5050,worst,0\n0.0002622,100,30000,2,network,100,best,0\n0.0007732,200,1600,2,network,20100,worst,6400\n0.0004773,200,1600,2,network,200,best,6400\n0.001489,300,90000,2,network,45150,worst,360000\n0.0008476,300,90000,2,network,300,best,360000\n0.0001415,50,400,4,network,1275,worst,0\n0.0001228,50,400,4,network,50,best,0\n0.00036,100,30000,4,network,5050,worst,0\n0.000278,100,30000,4,network,100,best,0\n0.0007791,200,1600,4,network,20100,worst,12800\n0.000489,200,1600,4,network,200,best,12800\n0.001611,300,90000,4,network,45150,worst,720000\n0.0009368,300,90000,4,network,300,best,720000\n0.0001423,50,400,8,network,1275,worst,0\n0.0001198,50,400,8,network,50,best,0\n0.0003974,100,30000,8,network,5050,worst,0\n0.0003237,100,30000,8,network,100,best,0\n0.0007888,200,1600,8,network,20100,worst,25600\n0.0004838,200,1600,8,network,200,best,25600\n0.001794,300,90000,8,network,45150,worst,1440000\n0.001104,300,90000,8,network,300,best,1440000\n0.0001432,50,400,12,network,1275,worst,0\n0.0001241,50,400,12,network,50,best,0\n0.0004366,100,30000,12,network,5050,worst,0\n0.0003586,100,30000,12,network,100,best,0\n0.0008051,200,1600,12,network,20100,worst,38400\n0.0004951,200,1600,12,network,200,best,38400\n0.002025,300,90000,12,network,45150,worst,2160000\n0.001341,300,90000,12,network,300,best,2160000\n0.0001413,50,400,16,network,1275,worst,0\n0.0001225,50,400,16,network,50,best,0\n0.0004776,100,30000,16,network,5050,worst,0\n0.0004004,100,30000,16,network,100,best,0\n0.0007849,200,1600,16,network,20100,worst,51200\n0.0004933,200,1600,16,network,200,best,51200\n0.002221,300,90000,16,network,45150,worst,2880000\n0.001494,300,90000,16,network,300,best,2880000\n3.859e-05,50,400,1,socket,1275,worst,0\n2.104e-05,50,400,1,socket,50,best,0\n0.0001283,100,30000,1,socket,5050,worst,0\n5.521e-05,100,30000,1,socket,100,best,0\n0.0003818,200,1600,1,socket,20100,worst,0\n8.32e-05,200,1600,1,socket,200,best,0\n0.0008548,300,90000,1,socket,45150,worst,0\n0.0001634,300,90000,1,socket,300,best,0\n3.917e-05,50,400,3,socket,1275,worst,0\n2.068e-05,50,400,3,socket,50,best,0\n0.0001301,100,30000,3,socket,5050,worst,0\n5.464e-05,100,30000,3,socket,100,best,0\n0.00038,200,1600,3,socket,20100,worst,0\n8.455e-05,200,1600,3,socket,200,best,0\n0.0008321,300,90000,3,socket,45150,worst,0\n0.0001658,300,90000,3,socket,300,best,0\n6.553e-05,50,400,1,node,1275,worst,0\n4.538e-05,50,400,1,node,50,best,0\n0.0001896,100,30000,1,node,5050,worst,0\n0.0001175,100,30000,1,node,100,best,0\n0.0004881,200,1600,1,node,20100,worst,0\n0.0001853,200,1600,1,node,200,best,0\n0.001018,300,90000,1,node,45150,worst,0\n0.0003539,300,90000,1,node,300,best,0\n6.366e-05,50,400,3,node,1275,worst,0\n4.604e-05,50,400,3,node,50,best,0\n0.0001895,100,30000,3,node,5050,worst,0\n0.0001197,100,30000,3,node,100,best,0\n0.0004906,200,1600,3,node,20100,worst,0\n0.0001878,200,1600,3,node,200,best,0\n0.001039,300,90000,3,node,45150,worst,0\n0.0003629,300,90000,3,node,300,best,0\n",
    ),
    (
        "own-runs",
        "seconds,messages,bytes,steps\n0.0021,100,800,100\n0.0059,200,1600,900\n0.0042,200,1600,200\n0.013,300,24000,2500\n0.0064,300,24000,300\n0.021,400,3200,4100\n0.0081,400,3200,400\n0.0305,500,40000,6000\n0.0105,500,40000,500\n",
    ),
    (
        "two-runs",
        "seconds,messages,bytes,ppn,place\n0.00005,10,80,1,network\n0.0006,2,2097152,3,socket\n",
    ),
    (
        "diff-before",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 32000000.0, "rate_msgs_per_s_rounds": [30000000.0, 31000000.0, 32000000.0, 33000000.0, 34000000.0]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "diff-worse",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 16000000.0, "rate_msgs_per_s_rounds": [15000000.0, 15500000.0, 16000000.0, 16500000.0, 17000000.0]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "diff-better",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 64000000.0, "rate_msgs_per_s_rounds": [60000000.0, 62000000.0, 64000000.0, 66000000.0, 68000000.0]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "diff-few",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 31000000.0, "rate_msgs_per_s_rounds": [30000000.0, 31000000.0]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "diff-far",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "far", "rate_msgs_per_s": 10666666.666666666, "rate_msgs_per_s_rounds": [10000000.0, 10333333.333333334, 10666666.666666666, 11000000.0, 11333333.333333334]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "far", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "diff-both",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench", "options": {"seed": 1}, "seed": 1, "version": "0.1.0", "commit": null, "modified": false, "machine": {"cpu_model": "Abacus", "processors": 2, "kernel": "wood"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"], "figures": [{"name": "rate_msgs_per_s", "better": "higher"}]}], "results": {"rates": [{"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "near", "rate_msgs_per_s": 32000000.0, "rate_msgs_per_s_rounds": [30000000.0, 31000000.0, 32000000.0, 33000000.0, 34000000.0]}, {"engine": "optimistic", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "far", "rate_msgs_per_s": 10666666.666666666, "rate_msgs_per_s_rounds": [10000000.0, 10333333.333333334, 10666666.666666666, 11000000.0, 11333333.333333334]}, {"engine": "bins", "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100, "size_bytes": 8, "placement": "far-slowed", "rate_msgs_per_s": 5.2, "rate_msgs_per_s_rounds": [5.0, 5.1, 5.2, 5.3, 5.4]}]}}"#,
    ),
    (
        "doc-five",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 102.0, "rate_per_s_rounds": [100.0, 101.0, 102.0, 103.0, 104.0]}]}}"#,
    ),
    (
        "doc-five-101",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 103.02, "rate_per_s_rounds": [101.0, 102.01, 103.02, 104.03, 105.04]}]}}"#,
    ),
    (
        "doc-five-094",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 95.88, "rate_per_s_rounds": [94.0, 94.94, 95.88, 96.82, 97.76]}]}}"#,
    ),
    (
        "doc-five-050",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 51.0, "rate_per_s_rounds": [50.0, 50.5, 51.0, 51.5, 52.0]}]}}"#,
    ),
    (
        "doc-three",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 101.0, "rate_per_s_rounds": [100.0, 101.0, 102.0]}]}}"#,
    ),
    (
        "doc-three-less",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 2.0, "rate_per_s_rounds": [1.0, 2.0, 3.0]}]}}"#,
    ),
    (
        "doc-zeros",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 1.0, "rate_per_s_rounds": [0.0, 0.0, 1.0, 1.0, 1.0]}]}}"#,
    ),
    (
        "doc-counts",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 100, "messages": 7}]}}"#,
    ),
    (
        "doc-counts-99",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 99, "messages": 8}]}}"#,
    ),
    (
        "doc-counts-104",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 104, "messages": 7}]}}"#,
    ),
    (
        "doc-counts-106",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 106, "messages": 7}]}}"#,
    ),
    (
        "doc-counts-0",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 0, "messages": 7}]}}"#,
    ),
    (
        "doc-counts-1",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "steps": 1, "messages": 7}]}}"#,
    ),
    (
        "doc-rows",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 1, "steps": 1}, {"scenario": "NC", "window": 1, "steps": 2}, {"scenario": "NC", "window": 2, "steps": 3}]}}"#,
    ),
    (
        "doc-rows-other",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 1, "steps": 1}, {"scenario": "NC", "window": 1, "steps": 2}, {"scenario": "WC", "window": 2, "steps": 3}, {"scenario": "WC", "window": 3, "steps": 3}]}}"#,
    ),
    (
        "doc-rows-none",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 9, "steps": 1}]}}"#,
    ),
    (
        "doc-of-predict",
        r#"{"schema": "dpamatch-results-1", "command": "predict", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 102.0, "rate_per_s_rounds": [100.0, 101.0, 102.0, 103.0, 104.0]}]}}"#,
    ),
    (
        "doc-no-tables",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 1, "format": "json"}, "version": "1", "commit": "abc", "machine": {"cpu_model": "Abacus"}, "tables": [], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 102.0, "rate_per_s_rounds": [100.0, 101.0, 102.0, 103.0, 104.0]}]}}"#,
    ),
    (
        "doc-elsewhere",
        r#"{"schema": "dpamatch-results-1", "command": "bench", "command_line": "", "options": {"seed": 2, "format": "csv", "sweep": [1, 2]}, "version": "1", "commit": null, "machine": {"cpu_model": "Difference Engine"}, "tables": [{"name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"], "figures": [{"name": "rate_per_s", "better": "higher"}, {"name": "steps", "better": "lower"}, {"name": "messages", "better": null}]}], "results": {"rates": [{"scenario": "NC", "window": 8, "rate_per_s": 102.0, "rate_per_s_rounds": [100.0, 101.0, 102.0, 103.0, 104.0]}]}}"#,
    ),
    (
        "explored",
        "post,1,0,0,7\npost,2,0,0,7\npost,3,3,*,*\ncancel,1\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,3,9,9\ncancel,2\npost,4,0,*,7\narrive,4,0,5,7\narrive,5,0,5,7\narrive,6,0,5,7\npost,5,0,5,*\n",
    ),
    (
        "five-blocks",
        "post,0,0,0,7\npost,1,0,0,7\npost,2,0,0,7\npost,3,0,0,7\npost,4,0,0,7\npost,5,0,0,7\npost,6,0,0,7\npost,7,0,0,7\npost,8,0,0,7\npost,9,0,0,7\narrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,0,0,7\narrive,4,0,0,7\narrive,5,0,0,7\narrive,6,0,0,7\narrive,7,0,0,7\narrive,8,0,0,7\narrive,9,0,0,7\n",
    ),
    ("probing", "post,1,0,0,7\nprobe,4,0,3,8\n"),
    (
        "everything",
        "# a little of everything\npost,10,0,*,5,size=64\nprobe,1,0,*,*\narrive,20,0,3,5,bytes=8\n\narrive,21,0,3,6\narrive,22,0,4,6   # the second sender\nprobe,2,0,*,6\nmprobe,3,0,4,*\npost,11,0,3,6\npost,12,0,3,6\npost,13,1,0,0\ncancel,12\ncancel,12\narrive,23,2,0,0\n",
    ),
    (
        "everything-crlf",
        "post,10,0,*,5,size=64\r\nprobe,1,0,*,*\r\narrive,20,0,3,5,bytes=8\r\n\r\narrive,21,0,3,6\r\narrive,22,0,4,6   # the second sender\r\nprobe,2,0,*,6\r\nmprobe,3,0,4,*\r\npost,11,0,3,6\r\npost,12,0,3,6\r\npost,13,1,0,0\r\ncancel,12\r\ncancel,12\r\narrive,23,2,0,0\r\n",
    ),
    ("nothing", "# nothing\n\n"),
    ("soup", "post,1,0,*,7\nsoup\n"),
    ("cut", "post,1,0,0,0\narrive,1,1,0,0\noops\n"),
    (
        "sixty",
        "post,0,0,0,0\npost,1,0,1,0\npost,2,0,2,0\npost,3,0,3,0\npost,4,0,4,0\npost,5,0,5,0\npost,6,0,6,0\npost,7,0,7,0\npost,8,0,8,0\npost,9,0,9,0\npost,10,0,10,0\npost,11,0,11,0\npost,12,0,12,0\npost,13,0,13,0\npost,14,0,14,0\npost,15,0,15,0\npost,16,0,16,0\npost,17,0,17,0\npost,18,0,18,0\npost,19,0,19,0\npost,20,0,20,0\npost,21,0,21,0\npost,22,0,22,0\npost,23,0,23,0\npost,24,0,24,0\npost,25,0,25,0\npost,26,0,26,0\npost,27,0,27,0\npost,28,0,28,0\npost,29,0,29,0\npost,30,0,30,0\npost,31,0,31,0\npost,32,0,32,0\npost,33,0,33,0\npost,34,0,34,0\npost,35,0,35,0\npost,36,0,36,0\npost,37,0,37,0\npost,38,0,38,0\npost,39,0,39,0\npost,40,0,40,0\npost,41,0,41,0\npost,42,0,42,0\npost,43,0,43,0\npost,44,0,44,0\npost,45,0,45,0\npost,46,0,46,0\npost,47,0,47,0\npost,48,0,48,0\npost,49,0,49,0\npost,50,0,50,0\npost,51,0,51,0\npost,52,0,52,0\npost,53,0,53,0\npost,54,0,54,0\npost,55,0,55,0\npost,56,0,56,0\npost,57,0,57,0\npost,58,0,58,0\npost,59,0,59,0\n",
    ),
    ("wrong", "cancel,8\nsend,1,0,0,0\ncancel,9\n"),
    ("third", "\n\ncancel\n"),
    (
        "calls",
        "post,0,9,0,7\npost,1,9,*,7\narrive,0,9,0,7\narrive,1,9,3,7\narrive,2,9,3,8\n",
    ),
    ("long", "post,0,0,1,7\narrive,0,0,1,7,bytes=8589934590\n"),
    ("few-rates", "series,threads,rate\nNC,1,0.4\nNC,2,0.75\n"),
    (
        "more-rates",
        "series,threads,rate\nNC,1,0.4\nNC,2,0.75\nWC-SP,1,0.4\nNC,4,2.0\n",
    ),
    ("other-rates", "series,threads,rate\nNC,1,0.38\nNC,2,0.7\n"),
    (
        "wide-rates",
        "series,threads,rate\nNC,1,0.4\nNC,2,0.75\nNC,191,9.0\n",
    ),
];
