// Prompts with one kind of content each.
#include "tests/conformance/content.h"

#include <nlohmann/json.hpp>
#include "tests/conformance/fixtures.h"

namespace conformance {

using mcp::PromptArguments;
using nlohmann::json;

namespace {

// A prompt whose messages are the user's.
template <typename Blocks>
void add(mcp::Server& server, mcp::Prompt prompt, Blocks blocks) {
  prompt.get = [blocks](const PromptArguments& arguments, mcp::CallContext&) -> mcp::PromptAnswer {
    mcp::PromptResult result;
    for (const json& block : blocks(arguments)) {
      result.messages->push_back({{"role", "user"}, {"content", block}});
    }
    return result;
  };
  server.add_prompt(std::move(prompt));
}

mcp::Prompt with_arguments() {
  mcp::Prompt prompt;
  prompt.name = "test_prompt_with_arguments";
  prompt.description = "Repeats its arguments";
  prompt.arguments = {{"arg1", "", "The first argument", true},
                      {"arg2", "", "The second argument", true}};
  prompt.complete = [](const mcp::CompletionQuery& query, mcp::CallContext&) {
    mcp::Completion completion;
    for (const char* value : {"testing", "test", "other"}) {
      if (std::string_view(value).starts_with(query.value)) completion.values.emplace_back(value);
    }
    return completion;
  };
  return prompt;
}

mcp::Prompt described(const std::string& name, const std::string& description) {
  mcp::Prompt prompt;
  prompt.name = name;
  prompt.description = description;
  return prompt;
}

}  // namespace

void add_prompts(mcp::Server& server) {
  add(server, described("test_simple_prompt", "One text"), [](const PromptArguments&) {
    return json::array({text_block("This is a simple prompt for testing.")});
  });
  add(server, with_arguments(), [](const PromptArguments& arguments) {
    return json::array({text_block("Prompt with arguments: arg1='" + arguments.at("arg1") +
                                   "', arg2='" + arguments.at("arg2") + "'")});
  });
  auto embedding = described("test_prompt_with_embedded_resource", "A resource and a text");
  embedding.arguments = {{"resourceUri", "", "URI of the resource", true}};
  add(server, std::move(embedding), [](const PromptArguments& arguments) {
    return json::array({resource_block(arguments.at("resourceUri"), "text/plain",
                                       "Embedded resource content for testing."),
                        text_block("Please process the embedded resource above.")});
  });
  add(server, described("test_prompt_with_image", "An image and a text"),
      [](const PromptArguments&) {
        return json::array({image_block(), text_block("Please analyze the image above.")});
      });
}

}  // namespace conformance
