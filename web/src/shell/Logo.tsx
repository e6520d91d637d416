export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg className="logo" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M7 21c4.500 0 4.500-9 9-9s4.500 9 9 9" />
      <circle cx="7" cy="21" r="2.600" className="from" />
      <circle cx="25" cy="21" r="2.600" className="to" />
    </svg>
  );
}
