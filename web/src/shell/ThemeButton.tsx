import { Button } from "../parts/Button";
import { useStore } from "../state/store";
import { nextTheme, setTheme, theme } from "../state/theme";

const icons = { system: "monitor", light: "sun", dark: "moon" } as const;

export function ThemeButton() {
  const now = useStore(theme);
  const next = nextTheme[now];
  return <Button kind="bare" icon={icons[now]} label={`Theme: ${now}. Change to ${next}`} onClick={() => setTheme(next)} />;
}
