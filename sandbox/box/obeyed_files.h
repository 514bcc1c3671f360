// The one list of names that stay as they are in folders that code may write to: programs of the
// host obey these files without asking once their user works there.
//
// A file that a person starts or installs by hand (package.json, Makefile, .npmrc), or that another
// machine obeys (.github/workflows), is the work itself, and is not among them.
#pragma once

#include <string_view>

namespace sandbox::box {

struct ObeyedFile {
  // A link of that name makes the folder read-only, or it stays. Texts of instructions are often
  // links to one another; such a link can be replaced, as a text that is not there can be made.
  enum class Links { kNarrow, kStay };

  std::string_view name;
  std::string_view by;  // ids of clients, as `hutch setup` has them, with spaces between
  Links links = Links::kNarrow;
};

inline constexpr ObeyedFile kObeyedFiles[] = {
    {".git", "git"},
    {".gitconfig", "git"},
    {".gitmodules", "git"},
    {".husky", "git"},
    {".pre-commit-config.yaml", "git"},
    {"lefthook.yml", "git"},
    {".lefthook.yml", "git"},
    {".vscode", "vscode vscode-server vscode-insiders copilot"},
    {".devcontainer", "vscode vscode-server vscode-insiders"},
    {".devcontainer.json", "vscode vscode-server vscode-insiders"},
    {".idea", "JetBrains"},
    {".claude", "claude-code"},
    {".mcp.json", "claude-code copilot"},
    {".cursor", "cursor"},
    {".codex", "codex"},
    {".agents", "codex gemini goose opencode"},
    {".gemini", "gemini"},
    {".qwen", "qwen"},
    {".kiro", "kiro"},
    {".zed", "zed"},
    {".windsurf", "windsurf"},
    {".opencode", "opencode"},
    {"opencode.json", "opencode"},
    {"opencode.jsonc", "opencode"},
    {".goose", "goose"},
    {".copilot", "copilot"},
    {".cline", "cline cline-cli"},
    {".clinerules", "cline cline-cli", ObeyedFile::Links::kStay},
    {".cursorrules", "cursor", ObeyedFile::Links::kStay},
    {".windsurfrules", "windsurf", ObeyedFile::Links::kStay},
    {".goosehints", "goose", ObeyedFile::Links::kStay},
    {".rules", "zed", ObeyedFile::Links::kStay},
    {"AGENTS.md", "codex copilot cursor opencode windsurf zed", ObeyedFile::Links::kStay},
    {"AGENTS.override.md", "codex", ObeyedFile::Links::kStay},
    {"AGENT.md", "zed", ObeyedFile::Links::kStay},
    {"CLAUDE.md", "claude-code", ObeyedFile::Links::kStay},
    {"CLAUDE.local.md", "claude-code", ObeyedFile::Links::kStay},
    {"GEMINI.md", "gemini", ObeyedFile::Links::kStay},
    {"QWEN.md", "qwen", ObeyedFile::Links::kStay},
    {".envrc", "direnv"},
    {".bashrc", "shells"},
    {".bash_profile", "shells"},
    {".bash_login", "shells"},
    {".bash_logout", "shells"},
    {".bash_aliases", "shells"},
    {".profile", "shells"},
    {".zshrc", "shells"},
    {".zshenv", "shells"},
    {".zprofile", "shells"},
    {".zlogin", "shells"},
    {".zlogout", "shells"},
    {".kshrc", "shells"},
    {".cshrc", "shells"},
    {".tcshrc", "shells"},
    {".login", "shells"},
    {".xprofile", "sessions of X"},
    {".xsession", "sessions of X"},
    {".xinitrc", "sessions of X"},
    {".inputrc", "readline"},
    {".vimrc", "vim"}};

// This directory has both: the files below are obeyed, all others are the work.
inline constexpr std::string_view kSharedDirectory = ".github";
inline constexpr ObeyedFile kObeyedInShared[] = {
    {"copilot-instructions.md", "copilot vscode", ObeyedFile::Links::kStay},
    {"instructions", "copilot vscode"},
    {"prompts", "copilot vscode"},
    {"chatmodes", "vscode"},
    {"agents", "copilot vscode"},
    {"skills", "copilot vscode"},
    {"hooks", "copilot vscode"},
    {"mcp.json", "copilot"}};

// These clients look for no files of their own in a folder.
inline constexpr std::string_view kClientsWithoutFiles[] = {"claude-desktop", "lmstudio"};

}  // namespace sandbox::box
