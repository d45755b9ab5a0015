#include "job.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "base/stop.h"
#include "gil.h"

namespace nb = nanobind;

namespace pliant::python {
namespace {

constexpr size_t kStackBytes = size_t{64} << 20;
constexpr auto kLookAround = std::chrono::milliseconds(30);
constexpr auto kPatience = std::chrono::milliseconds(500);  // of who was interrupted, for the end of the work

struct Job {
  std::function<Artifact(const Progress&)> work;
  StopFlag stop{false};
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  bool is_done = false, has_news = false;
  std::string stage;
  double fraction = 0;
  std::optional<Artifact> result;  // empty where `failure` is not
  std::exception_ptr failure;

  pthread_t thread{};
  nb::object keep;

  void run() {
    StopScope scope(&stop);
    std::optional<Artifact> got;
    std::exception_ptr thrown;
    try {
      got.emplace(work([this](const std::string& s, double f) { report(s, f); }));
    } catch (const std::bad_alloc&) {
      thrown = std::current_exception();
    } catch (const Stopped&) {
      thrown = std::current_exception();
    } catch (const InternalError&) {
      thrown = std::current_exception();
    } catch (const std::exception& e) {
      thrown = std::make_exception_ptr(InternalError(e.what()));
    }
    work = nullptr;
    const std::lock_guard lock(mutex);
    result = std::move(got);
    failure = thrown;
    is_done = true;
    changed.notify_all();
  }
  void report(const std::string& s, double f) {
    const std::lock_guard lock(mutex);
    stage = s;
    fraction = f;
    has_news = true;
  }
};

// Jobs whose threads have not been joined; guarded by Python's lock. Never freed.
std::list<std::shared_ptr<Job>>& jobs() {
  static auto* all = new std::list<std::shared_ptr<Job>>;
  return *all;
}

bool start(const std::shared_ptr<Job>& job) {
  auto* mine = new std::shared_ptr<Job>(job);
  auto body = [](void* given) -> void* {
    std::unique_ptr<std::shared_ptr<Job>> owned(static_cast<std::shared_ptr<Job>*>(given));
    // The lock is not held here, so `keep` is not let go of here either: jobs() has the last reference.
    (*owned)->run();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const bool started = pthread_create(&job->thread, &attributes, body, mine) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) delete mine;
  return started;
}

bool is_done(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.is_done;
}
void wait(Job& job, std::chrono::milliseconds at_most) {
  GilRelease unlocked;
  std::unique_lock lock(job.mutex);
  job.changed.wait_for(lock, at_most, [&] { return job.is_done; });
}

// Joins jobs that were left alone and have ended since.
void join_finished() {
  jobs().remove_if([](const std::shared_ptr<Job>& job) {
    if (!is_done(*job)) return false;
    pthread_join(job->thread, nullptr);
    return true;
  });
}

void show(Job& job, const Progress& progress) {
  std::string stage;
  double fraction;
  {
    const std::lock_guard lock(job.mutex);
    if (!job.has_news) return;
    job.has_news = false;
    stage = job.stage;
    fraction = job.fraction;
  }
  if (progress) progress(stage, fraction);
}

}  // namespace

Artifact run_job(std::function<Artifact(const Progress&)> work, nb::object keep, const Progress& progress) {
  join_finished();
  if (is_shutting_down()) {
    const GilRelease unlocked;  // where threads other than the main one end
  }
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->keep = std::move(keep);
  if (start(job)) {
    jobs().push_back(job);
    try {
      while (!is_done(*job)) {
        wait(*job, kLookAround);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        show(*job, progress);
      }
    } catch (...) {
      job->stop.store(true);
      for (auto end = std::chrono::steady_clock::now() + kPatience;
           !is_done(*job) && std::chrono::steady_clock::now() < end;)
        wait(*job, kLookAround);
      join_finished();
      throw;
    }
    join_finished();
  } else {
    GilRelease unlocked;
    job->run();
  }
  if (job->failure) std::rethrow_exception(job->failure);
  return std::move(*job->result);
}

void stop_jobs() {
  const std::vector<std::shared_ptr<Job>> all(jobs().begin(), jobs().end());
  for (const auto& job : all) job->stop.store(true);
  {
    GilRelease unlocked;
    for (const auto& job : all) {
      std::unique_lock lock(job->mutex);
      job->changed.wait(lock, [&] { return job->is_done; });
    }
  }
  join_finished();
}

}  // namespace pliant::python
