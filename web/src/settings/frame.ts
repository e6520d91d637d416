import { href } from "../state/route";

/** underSettings is the way back up for the pages of the settings. */
export const underSettings = [{ title: "Settings", to: href("settings") }];
