// Two accesses to the same bytes by different threads, one of them a write and not both atomic, are a race unless one
// is ordered before the other. What orders them:
//
//   threads of a block       a block barrier: their epochs differ
//   lanes of a warp          a __syncwarp() that both took part in (vector clocks, join()); volatile accesses; a
//                            shuffle or vote orders what was read before it, and may have gone into it, before writes
//   warps, blocks            one has changed a variable atomically that the other has later read so, whenever that was
//   threads of a grid        a grid barrier (CheckedMemory::forget_accesses), the end of a launch
//
// The third rule is generous: it does not ask for fences, nor what was done before the atomic operation and what
// behind. Nothing that is ordered is called a race; some races are not seen. A store of what is in memory already is in
// no conflict with the store that put it there: CUDA promises that one of them is made.
#include "sandbox/device/cpu/executor/check/block_check.h"

#include <algorithm>
#include <cstring>

namespace kernelift::cpu {

namespace {

/// Read by a thread that should not, these are seen in its result: not a number, and a large one.
constexpr int kRubbish[] = {0xff, 0x7b};

uint64_t variable_bit(uint64_t address) { return uint64_t(1) << ((address / kGranule * 0x9e3779b97f4a7c15u) >> 58); }

Dim3 thread_of(const kl_block& block, uint32_t linear) {
  return {linear % block.ntid_x, linear / block.ntid_x % block.ntid_y, linear / block.ntid_x / block.ntid_y};
}

}  // namespace

BlockCheck::BlockCheck(CheckedMemory& memory, const LaunchState& launch)
    : memory_(memory),
      launch_(launch),
      dynamic_offset_((launch.kernel.static_shared_bytes + KL_SHARED_ALIGN - 1) / KL_SHARED_ALIGN * KL_SHARED_ALIGN),
      shared_bytes_(launch.launch.dynamic_shared_bytes ? dynamic_offset_ + launch.launch.dynamic_shared_bytes
                                                       : launch.kernel.static_shared_bytes),
      shared_(shared_bytes_ / kGranule + 1) {
  for (uint32_t thread = 0; thread < launch.threads; ++thread) place(thread);
}

void BlockCheck::begin(kl_block& block, uint64_t index) {
  if (block_) memory_.block_ended();
  block_ = &block;
  block.moments = moments_.data(), block.shared_shadow = shared_.data();
  shared_begin_ = reinterpret_cast<uint64_t>(block.shared);
  number_ = Moment::block_number(index), passed_ = 0;
  block.moment = Moment::of(0, passed_, 0, number_);
  std::memset(block.shared, kRubbish[index % std::size(kRubbish)], shared_bytes_);
  for (uint32_t thread = 0; thread < launch_.threads && differ_; ++thread) {
    epochs_[thread] = 0;
    forget_lanes(thread);
    place(thread);
  }
  differ_ = false;
  released_.fill(0), acquired_.fill(0);
  waits_.fill({});
  named_barriers_ = false;
}

void BlockCheck::access(const kl_thread& thread, const void* pointer, uint64_t bytes, kl_site& site, uint64_t low,
                        uint64_t high) {
  if (bytes == 0) return;
  memory_.own(site);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Current current{thread, site, address, bytes, low, high, Access(block_->moment + moments_[thread.linear], site.mark)};
  if (address & (site.align - 1)) report(current, FindingKind::Misaligned, address);
  if (site.variable) {
    const bool dynamic = site.flags & KL_SITE_DYNAMIC;
    return access_shared(current, dynamic ? dynamic_offset_ : site.shared_offset,
                         dynamic ? launch_.launch.dynamic_shared_bytes : site.shared_bytes);
  }
  if (address - site.begin >= site.bytes) {
    if (address - shared_begin_ < kSharedSpacing) return access_shared(current, 0, shared_bytes_);
    if (!memory_.find(site, address, bytes)) {
      if (!memory_.is_forbidden(address)) return;  // A local array, a parameter, a table of the code.
      current.object = &memory_;
      return report(current, FindingKind::OutOfBounds, address);
    }
  }
  current.object = site.shadow, current.object_begin = site.begin, current.written = site.written;
  if (const uint64_t end = site.begin + site.bytes; address + bytes > end)
    return report(current, FindingKind::OutOfBounds, end);
  if (memory_.reads_plainly(site)) return;
  synchronise(current);
  const uint64_t first = site.begin / kGranule * kGranule;
  visit(current, static_cast<Word*>(site.shadow), first);
  if (site.written && current.writes())
    std::memset(site.written + (address - first) / kGranule, 1,
                (address + bytes - first + kGranule - 1) / kGranule - (address - first) / kGranule);
}

void BlockCheck::access_shared(Current& current, uint64_t begin, uint64_t size) {
  const uint64_t offset = current.address - shared_begin_;
  current.object_begin = shared_begin_ + begin;
  if (offset < begin || offset + current.bytes > begin + size)
    return report(current, FindingKind::OutOfBounds, current.address);
  if (current.site.variable) remember(current.site, begin, size, current.bytes);
  synchronise(current);
  visit(current, shared_.data(), shared_begin_);
}

/// Where a shared variable and its shadow are; where several blocks are resident at once, as an offset in each.
void BlockCheck::remember(kl_site& site, uint64_t begin, uint64_t size, uint64_t bytes) {
  if (!memory_.is_quick(site, bytes) || begin % site.align != 0) return;
  const bool several = launch_.kernel.mode == KL_MODE_FIBER;
  const uint64_t cells = begin / kGranule * sizeof(Cell);
  site.quick_begin = several ? begin : shared_begin_ + begin;
  site.quick_shadow = reinterpret_cast<void*>(several ? cells : reinterpret_cast<uint64_t>(shared_.data()) + cells);
  site.quick_count = (size - bytes) / site.align + 1;
}

template <class Shadow>
void BlockCheck::visit(const Current& current, Shadow* shadow, uint64_t first) {
  const uint64_t begin = current.address - first, end = begin + current.bytes;
  for (uint64_t granule = begin / kGranule; granule * kGranule < end; ++granule) {
    const uint64_t at = granule * kGranule;
    unsigned bytes = 15;
    if (begin > at) bytes &= 15u << (begin - at);
    if (end < at + kGranule) bytes &= (1u << (end - at)) - 1;
    if (!current.writes() && current.written && !current.written[granule])
      report(current, FindingKind::Uninitialised, first + at);
    look(current, shadow[granule], current.access.of_bytes(bytes));
  }
}

void BlockCheck::look(const Current& current, Word& word, Access now) {
  const bool plain = now.whole() && memory_.is_plain(current.site);
  // What is in conflict with this read is so with the write, too.
  if (plain && !current.writes() && !word.is_cell() && word.is_write() && word.access().is_same_moment(now)) return;
  Cell cell = memory_.cell_of(word);
  look(current, cell, now);
  memory_.keep(word, cell, plain);
}

void BlockCheck::look(const Current& current, Cell& cell, Access now) {
  const bool shared = !current.object;
  if (shared && cell.writer && cell.writer.block() != number_) cell = {};  // Of a block before.
  if (current.writes()) {
    if (!cell.writer.is_surely_before(now) || !cell.reader.is_surely_before(now) ||
        !cell.other_reader.is_surely_before(now))
      write(current, cell, now);
    cell.note_write(now);
  } else {
    if (!cell.writer.is_surely_before(now) || (shared && !cell.writer)) read(current, cell, now);
    cell.note_read(now);
  }
}

void BlockCheck::write(const Current& current, Cell& cell, Access now) {
  if (concurrent(current, cell.writer, Before::Write) && now.meets(cell.writer) && !stores_what_is_there(current))
    report(current, FindingKind::Race, current.address, cell.writer);
  for (Access reader : {cell.reader, cell.other_reader})
    if (concurrent(current, reader, Before::Read) && now.meets(reader))
      report(current, FindingKind::Race, current.address, reader);
}

void BlockCheck::read(const Current& current, Cell& cell, Access now) {
  if (!cell.writer && !current.object) report(current, FindingKind::Uninitialised, current.address);
  if (concurrent(current, cell.writer, Before::Write) && now.meets(cell.writer))
    report(current, FindingKind::Race, current.address, cell.writer);
}

/// Whether nothing orders an access of another thread before the current one.
bool BlockCheck::concurrent(const Current& current, Access before, Before what) const {
  const uint32_t me = current.thread.linear, other = before.thread();
  if (!before || before.is_surely_before(current.access)) return false;
  if (before.strong() && current.access.strong()) return false;
  if (before.block() != number_)
    return current.object && !(memory_.released[before.block()] & memory_.acquired[number_]);
  if (named_barriers_) return false;
  const uint32_t my_warp = me / KL_WARP_SIZE, warp = other / KL_WARP_SIZE;
  if (released_[warp] & acquired_[my_warp]) return false;
  if (warp != my_warp) return true;
  auto& ordered = what == Before::Read ? met_ : seen_;
  if (ordered[me][other % KL_WARP_SIZE] > before.clock() || before.clock() == Moment::kMostClock) return false;
  const kl_site* site = memory_.site(before.site());
  return !(current.site.flags & KL_SITE_VOLATILE) || !site || !(site->flags & KL_SITE_VOLATILE);
}

void BlockCheck::synchronise(const Current& current) {
  const uint32_t flags = current.site.flags;
  if (!(flags & (KL_SITE_ACQUIRE | KL_SITE_RELEASE))) return;
  const uint64_t bit = variable_bit(current.address);
  const uint32_t warp = current.thread.linear / KL_WARP_SIZE;
  if (flags & KL_SITE_RELEASE) released_[warp] |= bit, memory_.released[number_] |= bit;
  if (flags & KL_SITE_ACQUIRE) acquired_[warp] |= bit, memory_.acquired[number_] |= bit;
}

bool BlockCheck::stores_what_is_there(const Current& current) const {
  const uint64_t value[] = {current.low, current.high};
  return current.site.flags & KL_SITE_VALUE && current.bytes <= sizeof value &&
         std::memcmp(reinterpret_cast<const void*>(current.address), value, current.bytes) == 0;
}

void BlockCheck::barrier(const kl_thread& thread, kl_site& site) {
  if (site.flags & KL_SITE_ONCE) {
    block_->moment = Moment::of(0, ++passed_, 0, number_);
    return;
  }
  const uint32_t me = thread.linear, epoch = epochs_[me];
  const Wait& wait = waits_[epoch % waits_.size()];
  if ((wait.epoch != epoch || wait.site != &site) && !meet(me, site)) return;
  epochs_[me] = epoch + 1, differ_ = true;
  forget_lanes(me);
  place(me);
}

/// The first of its block at a barrier, or at another than the first was; false: it is none of all threads.
[[gnu::noinline]] bool BlockCheck::meet(uint32_t me, kl_site& site) {
  if (site.flags & KL_SITE_NAMED) return named_barriers_ = true, false;
  Wait& wait = waits_[epochs_[me] % waits_.size()];
  if (wait.epoch != epochs_[me]) {
    wait = {epochs_[me], me, &site};
  } else if (wait.site != &site && !named_barriers_ &&
             (wait.site->column != site.column || std::strcmp(wait.site->place, site.place) != 0) &&
             memory_.is_news(FindingKind::DivergentBarrier, nullptr, 0, 0)) {
    AccessFinding finding;
    finding.kind = FindingKind::DivergentBarrier;
    finding.access = describe(me, number_, &site), finding.other = describe(wait.thread, number_, wait.site);
    memory_.add(std::move(finding));
  }
  return true;
}

void BlockCheck::join(uint32_t warp, uint32_t lanes, bool orders_memory) {
  const uint32_t first = warp * KL_WARP_SIZE;
  differ_ = true;
  auto each_lane = [&](auto visit) {
    for (uint32_t lane = 0; lane < KL_WARP_SIZE && lanes >> lane; ++lane)
      if (lanes >> lane & 1) visit(lane);
  };
  each_lane([&](uint32_t lane) {
    if (uint8_t& clock = clocks_[first + lane]; clock < Moment::kMostClock) ++clock;
  });
  auto merge = [&](Clocks& known) {
    std::array<uint8_t, KL_WARP_SIZE> all{};
    each_lane([&](uint32_t lane) {
      for (uint32_t i = 0; i < KL_WARP_SIZE; ++i) all[i] = std::max(all[i], known[first + lane][i]);
      all[lane] = std::max(all[lane], clocks_[first + lane]);
    });
    each_lane([&](uint32_t lane) { known[first + lane] = all; });
  };
  merge(met_);
  if (orders_memory) merge(seen_);
  each_lane([&](uint32_t lane) { place(first + lane); });
}

CheckedAccess BlockCheck::describe(uint32_t linear, uint32_t block, const kl_site* site) const {
  const uint64_t index = block - 1;
  CheckedAccess access;
  access.place = site ? site->place : "an unknown line";
  access.block = {uint32_t(index % block_->nctaid_x), uint32_t(index / block_->nctaid_x % block_->nctaid_y),
                  uint32_t(index / block_->nctaid_x / block_->nctaid_y)};
  access.thread = thread_of(*block_, linear);
  access.write = site && site->flags & KL_SITE_WRITE;
  access.atomic = access.write && site->flags & KL_SITE_STRONG;
  return access;
}

std::string BlockCheck::object_name(const Current& current) const {
  if (current.site.variable) return current.site.variable;
  return current.object ? memory_.nearest(current.address).first : "shared memory";
}

void BlockCheck::report(const Current& current, FindingKind kind, uint64_t address, Access before) {
  if (kind == FindingKind::Race && before.block() != number_) kind = FindingKind::BlockRace;
  if (!memory_.is_news(kind, current.object, current.access.site(), before.site())) return;
  AccessFinding finding;
  finding.kind = kind;
  finding.object = kind == FindingKind::Misaligned ? "" : object_name(current);
  const uint64_t begin = current.object == &memory_ ? memory_.nearest(address).second : current.object_begin;
  finding.element = int64_t(address - begin) / int64_t(current.bytes);
  finding.access = describe(current.thread.linear, number_, &current.site);
  if (before) finding.other = describe(before.thread(), before.block(), memory_.site(before.site()));
  memory_.add(std::move(finding));
}

}  // namespace kernelift::cpu
