import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Broken } from "./shell/Broken";
import { look } from "./state/session";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/fleet.css";
import "./styles/application.css";
import "./styles/views.css";
import "./styles/pages.css";

void look();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Broken at="">
        <App />
      </Broken>
    </StrictMode>,
  );
}
