// Makes a call and gives it up when its first progress comes; answers with what that said.

export async function giveUp(call) {
  const controller = new AbortController();
  let told = null;
  const onprogress = ({ message }) => {
    told ??= message;
    controller.abort("told to");
  };
  try {
    await call({ onprogress, signal: controller.signal });
  } catch (error) {
    if (controller.signal.aborted) return { text: told, images: [], failed: true };
    throw error;
  }
  throw new Error("the call ended before any progress");
}
