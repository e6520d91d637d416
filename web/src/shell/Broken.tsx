import { Component, type ReactNode } from "react";
import { Button } from "../parts/Button";
import { Notice } from "../parts/States";

/** Broken stands where a page fails by a mistake of ours: what is around it goes on, and another address begins anew. */
export class Broken extends Component<{ at: string; children: ReactNode }, { problem: string | undefined }> {
  override state: { problem: string | undefined } = { problem: undefined };

  static getDerivedStateFromError(error: unknown): { problem: string } {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override componentDidUpdate(before: { at: string }): void {
    if (before.at !== this.props.at && this.state.problem !== undefined) this.setState({ problem: undefined });
  }

  override render(): ReactNode {
    if (this.state.problem === undefined) return this.props.children;
    return (
      <main className="page">
        <Notice icon="degraded" title="This page has failed" action={<Button icon="refresh" onClick={() => location.reload()}>Load it again</Button>}>
          It is a mistake of the page, and nothing was changed: {this.state.problem}
        </Notice>
      </main>
    );
  }
}
