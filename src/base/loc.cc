#include "base/loc.h"

#include <algorithm>

namespace pliant {
namespace {

constexpr size_t kShownLocations = 4;

void collect_names(const LocPtr& loc, std::vector<std::string>& out) {
  if (!loc) return;
  if (loc->kind == Loc::Kind::Named) {
    if (std::find(out.begin(), out.end(), loc->name) == out.end()) out.push_back(loc->name);
    return;
  }
  for (const LocPtr& child : loc->children) collect_names(child, out);
}

void collect_descriptions(const LocPtr& loc, std::vector<std::string>& out) {
  if (!loc) return;
  if (loc->kind != Loc::Kind::Named) {
    for (const LocPtr& child : loc->children) collect_descriptions(child, out);
    return;
  }
  std::string text = "node \"" + loc->name + "\"";
  if (!loc->op.empty()) text += " (" + loc->op + ")";
  if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
}

}  // namespace

LocPtr Loc::make_named(std::string name, std::string op) {
  auto loc = std::make_shared<Loc>();
  loc->kind = Kind::Named;
  loc->name = std::move(name);
  loc->op = std::move(op);
  return loc;
}

LocPtr Loc::make_fused(const std::vector<LocPtr>& locs) {
  std::vector<LocPtr> kept;
  for (const LocPtr& loc : locs) {
    if (loc && std::find(kept.begin(), kept.end(), loc) == kept.end()) kept.push_back(loc);
  }
  if (kept.empty()) return nullptr;
  if (kept.size() == 1) return kept.front();
  auto fused = std::make_shared<Loc>();
  fused->kind = Kind::Fused;
  fused->children = std::move(kept);
  return fused;
}

LocPtr Loc::make_derived(LocPtr from, std::string pass) {
  auto loc = std::make_shared<Loc>();
  loc->kind = Kind::Derived;
  loc->name = std::move(pass);
  if (from) loc->children.push_back(std::move(from));
  return loc;
}

std::string describe(const LocPtr& loc) {
  std::vector<std::string> parts;
  collect_descriptions(loc, parts);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == kShownLocations) return text + " + …";
    if (i > 0) text += " + ";
    text += parts[i];
  }
  return text;
}

std::vector<std::string> model_nodes(const LocPtr& loc) {
  std::vector<std::string> names;
  collect_names(loc, names);
  return names;
}

}  // namespace pliant
