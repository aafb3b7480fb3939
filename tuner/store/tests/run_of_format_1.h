// A run as Kernelift 0.1.0 wrote it in run format 1: the original, a confirmed rewrite, and a wrong one. JSON is broken
// into lines here, and is otherwise as it was.
#pragma once

namespace kernelift::tuner {

inline constexpr const char* kRunOfFormat1 = R"sql(
PRAGMA application_id=1263293006;
PRAGMA user_version=1;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('run','{"mep":"/meps/k","mep_hash":"abc","kernel":"k<3>","device":"cuda","kernelift":"0.1.0",
"seed":7,"tiers":["source","params"],"time_budget":0.0,"evaluation_budget":0,"started":"2026-01-01T00:00:00Z",
"seconds_spent":2.5}');
INSERT INTO meta VALUES('state/stopped_by','time');
CREATE TABLE source(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO source VALUES('641791fe5de337571319390ebc6aab42','__global__ void k() {}');
INSERT INTO source VALUES('92e44c0a69730a1ea6ac2eb567792b61','__global__ void k() { }');
INSERT INTO source VALUES('aa8c2ce8cb18b2ab1976476333a5797b','__global__ void k() { wrong(); }');
CREATE TABLE candidate(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, tier TEXT NOT NULL, proposer TEXT NOT NULL,
    note TEXT NOT NULL, outcome TEXT NOT NULL, stage TEXT NOT NULL, speedup REAL, speedup_low REAL, seconds REAL,
    at REAL NOT NULL, source TEXT NOT NULL REFERENCES source(hash), recipe TEXT NOT NULL, candidate TEXT NOT NULL,
    verdict TEXT NOT NULL, confirmed TEXT);
INSERT INTO candidate VALUES(1,'fe0902062177069e85d2a61c491de599','baseline','original','as recorded','ok','time',1.0,
0.99,0.001,0.5,'641791fe5de337571319390ebc6aab42','O3',
'{"key":"fe0902062177069e85d2a61c491de599","tier":"baseline","proposer":"original","note":"as recorded","values":{},
"recipe":{"level":"O3","passes":"","unroll_threshold":-1,"inline_threshold":-1,"fast_math":[],"vectorize":true,
"options":[]},"launches":[],"scratch":[]}',
'{"outcome":"ok","stage":"time","detail":"","instance":"","buffer":"","expected":"","got":"","index":0,"distance":0.0,
"timings":[{"instance":"i0","weight":1.0,"baseline_seconds":0.001,"seconds":0.001,"speedup":1.0,"speedup_low":0.99,
"speedup_high":1.01,"samples":20,"cold":false}],"counters":{"largest_ulps":2.0,"registers":32.0},
"device":"cuda: NVIDIA H200, sm_90, driver 580.159.04","compile_seconds":0.25,"evaluate_seconds":0.5}',NULL);
INSERT INTO candidate VALUES(2,'78417b270d2ee793817d234404078c64','source','rules/jam','jam neighbours along x (x 2, y 1, z 1)','ok','time',1.5,
1.485,0.00066666,1.25,'92e44c0a69730a1ea6ac2eb567792b61','O3',
'{"key":"78417b270d2ee793817d234404078c64","tier":"source","proposer":"rules/jam",
"note":"jam neighbours along x (x 2, y 1, z 1)","values":{},
"recipe":{"level":"O3","passes":"","unroll_threshold":-1,"inline_threshold":-1,"fast_math":[],"vectorize":true,
"options":[]},"launches":[],"scratch":[]}',
'{"outcome":"ok","stage":"time","detail":"","instance":"","buffer":"","expected":"","got":"","index":0,"distance":0.0,
"timings":[{"instance":"i0","weight":1.0,"baseline_seconds":0.001,"seconds":0.0006666666666666666,"speedup":1.5,
"speedup_low":1.4849999999999999,"speedup_high":1.5150000000000001,"samples":20,"cold":false}],
"counters":{"as_built":1.0,"clang_baseline_us":1000.0,"clang_image_id":3.141592653589793e+15,"clang_speedup":1.75,
"clang_speedup_low":1.7,"clang_us":571.5,"image_id":2.718281828459045e+15,"largest_ulps":3.0,"local_bytes":16.0,
"occupancy":0.75,"registers":40.0,"shared_bytes":2048.0,"spill_bytes":8.0,"threads":256.0,"throttled_samples":5.0},
"device":"cuda: NVIDIA H200, sm_90, driver 580.159.04","compile_seconds":0.25,"evaluate_seconds":0.5}',
'{"outcome":"ok","stage":"time","detail":"","instance":"","buffer":"","expected":"","got":"","index":0,"distance":0.0,
"timings":[{"instance":"i0","weight":1.0,"baseline_seconds":0.001,"seconds":0.0006896551724137932,"speedup":1.45,
"speedup_low":1.4355,"speedup_high":1.4645,"samples":20,"cold":false}],
"counters":{"application_baseline_us":1000.0,"as_built":1.0,"clang_baseline_us":1000.0,
"clang_image_id":3.141592653589793e+15,"clang_speedup":1.75,"clang_speedup_low":1.7,"clang_us":571.5,
"embedded_speedup":1.6,"embedded_speedup_low":1.55,"embedded_us":625.0,"image_id":2.718281828459045e+15,
"largest_ulps":3.0,"local_bytes":16.0,"occupancy":0.75,"registers":40.0,"shared_bytes":2048.0,"spill_bytes":8.0,
"threads":256.0,"throttled_samples":5.0},
"device":"cuda: NVIDIA H200, sm_90, driver 580.159.04","compile_seconds":0.25,"evaluate_seconds":0.5}');
INSERT INTO candidate VALUES(3,'62c3d33a127a16ff434f953f4b7253cb','source','rules','wrong','wrong','verify',0.0,
0.0,0.0,2.0,'aa8c2ce8cb18b2ab1976476333a5797b','O3',
'{"key":"62c3d33a127a16ff434f953f4b7253cb","tier":"source","proposer":"rules","note":"wrong","values":{},
"recipe":{"level":"O3","passes":"","unroll_threshold":-1,"inline_threshold":-1,"fast_math":[],"vectorize":true,
"options":[]},"launches":[],"scratch":[]}',
'{"outcome":"wrong","stage":"verify","detail":"1 of 8 elements differ","instance":"i0","buffer":"out","expected":"1",
"got":"2","index":7,"distance":null,"timings":[],"counters":{"as_built":0.0,"code_bytes":4096.0,"fiber_kernels":1.0},
"device":"cuda: NVIDIA H200, sm_90, driver 580.159.04","compile_seconds":0.0,"evaluate_seconds":0.0}',NULL);
CREATE TABLE parent(child INTEGER NOT NULL REFERENCES candidate(id), parent INTEGER NOT NULL);
INSERT INTO parent VALUES(2,1);
INSERT INTO parent VALUES(3,1);
INSERT INTO parent VALUES(3,2);
CREATE INDEX candidate_key ON candidate(key);
PRAGMA journal_mode=WAL;
)sql";

}  // namespace kernelift::tuner
