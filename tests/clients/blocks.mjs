// The content blocks of MCP as every bridge reports them.

export function seen(content, failed) {
  return {
    text: content.filter((block) => block.type === "text").map((block) => block.text).join("\n"),
    images: content
      .filter((block) => block.type === "image")
      .map((block) => ({ type: block.mimeType, data: block.data })),
    failed: failed === true,
  };
}
